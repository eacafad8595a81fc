#pragma once
// The CUDA runtime (libcudart), as a table of its functions.

#include <cuda_runtime_api.h>

#include "backend/cuda/library.hpp"

#define OB_CUDART_FUNCTIONS(X)        \
  X(cudaDeviceGetAttribute)           \
  X(cudaDeviceSynchronize)            \
  X(cudaDriverGetVersion)             \
  X(cudaEventCreateWithFlags)         \
  X(cudaEventDestroy)                 \
  X(cudaEventElapsedTime)             \
  X(cudaEventQuery)                   \
  X(cudaEventRecord)                  \
  X(cudaEventSynchronize)             \
  X(cudaFree)                         \
  X(cudaFreeHost)                     \
  X(cudaGetDeviceCount)               \
  X(cudaGetDriverEntryPointByVersion) \
  X(cudaGetErrorName)                 \
  X(cudaGetErrorString)               \
  X(cudaGetLastError)                 \
  X(cudaHostAlloc)                    \
  X(cudaMalloc)                       \
  X(cudaMemGetInfo)                   \
  X(cudaMemcpy2DAsync)                \
  X(cudaMemcpyAsync)                  \
  X(cudaMemset2DAsync)                \
  X(cudaMemsetAsync)                  \
  X(cudaPeekAtLastError)              \
  X(cudaRuntimeGetVersion)            \
  X(cudaSetDevice)                    \
  X(cudaSetDeviceFlags)               \
  X(cudaStreamCreateWithFlags)        \
  X(cudaStreamDestroy) X(cudaStreamQuery) X(cudaStreamSynchronize) X(cudaStreamWaitEvent)

namespace ob::cuda {

/// Threads: any; each thread has its own current device
struct Runtime {
  OB_CUDART_FUNCTIONS(OB_CUDA_MEMBER)

  /// Errors: unavailable, if there is no library or it lacks a function
  static Result<Runtime> open();

  /// Converts the result of a call to a Status `what: why (CUDA's name)`. Clears the thread's last
  /// error.
  /// Errors: out_of_memory; unavailable without driver or device; else device_error
  Status check(cudaError_t result, const char* what) const;
};

}  // namespace ob::cuda
