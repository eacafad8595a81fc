#pragma once
// cuFFT, as a table of its functions.

#include <cufft.h>

#include <string_view>

#include "backend/cuda/library.hpp"

#define OB_CUFFT_FUNCTIONS(X) \
  X(cufftCreate)              \
  X(cufftDestroy)             \
  X(cufftExecC2C)             \
  X(cufftExecC2R)             \
  X(cufftExecD2Z)             \
  X(cufftExecR2C)             \
  X(cufftExecZ2D)             \
  X(cufftExecZ2Z)             \
  X(cufftMakePlanMany64) X(cufftSetAutoAllocation) X(cufftSetStream) X(cufftSetWorkArea)

namespace ob::cuda {

/// Threads: any; a plan belongs to one at a time
struct FftTable {
  OB_CUFFT_FUNCTIONS(OB_CUDA_MEMBER)

  /// Errors: unavailable, if there is no library or it lacks a function
  static Result<FftTable> open();

  /// Converts the result of a call to a Status `what: why`.   Errors: out_of_memory; unsupported;
  /// device_error
  static Status check(cufftResult result, std::string_view what);
};

}  // namespace ob::cuda
