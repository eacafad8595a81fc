#pragma once
// Functions of the CUDA driver. They are found through the runtime, so no code here needs libcuda
// itself.

#include <cuda.h>

#include "backend/cuda/library.hpp"
#include "backend/cuda/runtime.hpp"

#define OB_CUDA_DRIVER_FUNCTIONS(X) \
  X(cuDeviceGet)                    \
  X(cuDeviceGetName)                \
  X(cuFuncGetAttribute)             \
  X(cuGetErrorName)                 \
  X(cuGetErrorString) X(cuLaunchKernel) X(cuModuleGetFunction) X(cuModuleLoadData) X(cuModuleUnload)

namespace ob::cuda {

/// Threads: any; a device must be current for modules and launches
struct Driver {
  OB_CUDA_DRIVER_FUNCTIONS(OB_CUDA_MEMBER)

  /// Errors: unavailable, if there is no driver or it lacks a function
  static Result<Driver> open(const Runtime& runtime);

  /// Does as Runtime::check().
  Status check(CUresult result, const char* what) const;
};

}  // namespace ob::cuda
