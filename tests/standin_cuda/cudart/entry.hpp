#pragma once
// The start and the end of every function of the runtime.

#include <cuda_runtime_api.h>

namespace standin {

/// Counts the call. Returns an error if the call fails by injection, if there is no driver, or if
/// the current device had a fault. @param otherwise the error of an injected failure that names
/// none
cudaError_t enter(const char* call, cudaError_t otherwise = cudaErrorUnknown);

/// Remembers an error as the thread's last, and returns it.
cudaError_t leave(cudaError_t error);
cudaError_t& last_error();

/// Reports a broken rule, and returns CUDA's error (also where CUDA reports it later).
cudaError_t refuse(const char* call, const char* what, cudaError_t error);

}  // namespace standin

// Starts a function; injected failures return `otherwise`.
#define STANDIN_ENTER_OR(otherwise)                                  \
  do {                                                               \
    const cudaError_t entered = standin::enter(__func__, otherwise); \
    if (entered != cudaSuccess) return standin::leave(entered);      \
  } while (false)
#define STANDIN_ENTER() STANDIN_ENTER_OR(cudaErrorUnknown)
