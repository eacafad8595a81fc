// cublas: handles and their settings.

#include "cublas/call.hpp"

using standin::blas::Handle;
using Handles = standin::Handling<standin::blas::Library>;

extern "C" {

cublasStatus_t cublasCreate(cublasHandle_t* handle) { return Handles::create(__func__, handle); }

cublasStatus_t cublasDestroy(cublasHandle_t handle) { return Handles::destroy(__func__, handle); }

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  return Handles::set_stream(__func__, handle, stream);
}

cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream) {
  return Handles::get<cudaStream_t>(__func__, handle, &Handle::stream, stream);
}

cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
  return Handles::set(__func__, handle, &Handle::mode, mode);
}

cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t* mode) {
  return Handles::get(__func__, handle, &Handle::mode, mode);
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  if (mode == CUBLAS_PEDANTIC_MATH)  // tests count calls of this name
    (void)standin::Faults::instance().next("cublasSetMathMode@pedantic");
  return Handles::set(__func__, handle, &Handle::math, mode);
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  return Handles::get(__func__, handle, &Handle::math, mode);
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
  return Handles::set(__func__, handle, &Handle::atomics, mode);
}

cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t* mode) {
  return Handles::get(__func__, handle, &Handle::atomics, mode);
}

cublasStatus_t cublasSetEmulationStrategy(cublasHandle_t handle, cublasEmulationStrategy_t how) {
  return Handles::set(__func__, handle, &Handle::emulation, how);
}

cublasStatus_t cublasGetEmulationStrategy(cublasHandle_t handle, cublasEmulationStrategy_t* how) {
  return Handles::get(__func__, handle, &Handle::emulation, how);
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* p, size_t bytes) {
  return Handles::with(__func__, handle, [&](const Handle& object) {
    standin::Access access("cublasSetWorkspace", object.device);
    access.region(p, bytes, bytes, bytes == 0 ? 0 : 1, standin::Intent::write, 256);
    return access.ok() ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
  });
}

cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) {
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    default: return "CUBLAS_STATUS_INTERNAL_ERROR";
  }
}

const char* cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "success" : cublasGetStatusName(status);
}

}  // extern "C"
