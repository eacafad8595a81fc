// cudart: errors.

#include "cudart/entry.hpp"

namespace {

struct Name {
  cudaError_t error;
  const char* name;
  const char* text;
};

#define STANDIN_ERROR(error, text) \
  { error, #error, text }
constexpr Name kNames[] = {
    STANDIN_ERROR(cudaSuccess, "no error"),
    STANDIN_ERROR(cudaErrorInvalidValue, "invalid argument"),
    STANDIN_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    STANDIN_ERROR(cudaErrorInitializationError, "initialization error"),
    STANDIN_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    STANDIN_ERROR(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    STANDIN_ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    STANDIN_ERROR(cudaErrorInsufficientDriver, "CUDA driver version is insufficient"),
    STANDIN_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    STANDIN_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    STANDIN_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    STANDIN_ERROR(cudaErrorNotReady, "device not ready"),
    STANDIN_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    STANDIN_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    STANDIN_ERROR(cudaErrorHostMemoryAlreadyRegistered, "memory is already page-locked"),
    STANDIN_ERROR(cudaErrorHostMemoryNotRegistered, "memory is not page-locked"),
    STANDIN_ERROR(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    STANDIN_ERROR(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    STANDIN_ERROR(cudaErrorPeerAccessUnsupported, "peer access is not supported"),
    STANDIN_ERROR(cudaErrorSymbolNotFound, "named symbol not found"),
    STANDIN_ERROR(cudaErrorUnknown, "unknown error"),
};

const Name* find(cudaError_t error) {
  for (const Name& name : kNames) {
    if (name.error == error) return &name;
  }
  return nullptr;
}

}  // namespace

extern "C" {

cudaError_t cudaGetLastError() {
  const cudaError_t error = standin::last_error();
  standin::last_error() = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() { return standin::last_error(); }

const char* cudaGetErrorName(cudaError_t error) {
  const Name* name = find(error);
  return name != nullptr ? name->name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  const Name* name = find(error);
  return name != nullptr ? name->text : "unrecognized error code";
}

}  // extern "C"
