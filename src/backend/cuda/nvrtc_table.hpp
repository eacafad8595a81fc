#pragma once
// NVRTC, the compiler of kernels at run time, as a table of its functions.

#include <nvrtc.h>

#include "backend/cuda/library.hpp"

#define OB_NVRTC_FUNCTIONS(X) \
  X(nvrtcCompileProgram)      \
  X(nvrtcCreateProgram)       \
  X(nvrtcDestroyProgram)      \
  X(nvrtcGetCUBIN)            \
  X(nvrtcGetCUBINSize)        \
  X(nvrtcGetErrorString) X(nvrtcGetProgramLog) X(nvrtcGetProgramLogSize) X(nvrtcVersion)

namespace ob::cuda {

/// Threads: any
struct NvrtcTable {
  OB_NVRTC_FUNCTIONS(OB_CUDA_MEMBER)

  /// Errors: unavailable, if there is no library or it lacks a function
  static Result<NvrtcTable> open();
};

}  // namespace ob::cuda
