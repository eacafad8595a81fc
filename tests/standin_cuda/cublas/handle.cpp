// cublas: handles and what they keep.

#include <string>

#include "core/devices.hpp"
#include "core/faults.hpp"
#include "core/report.hpp"
#include "core/settings.hpp"
#include "cublas/call.hpp"

using standin::Devices;
using standin::Report;
using standin::blas::Handle;
using standin::blas::handles;

namespace {

cublasStatus_t enter(const char* call) {
  const int fault = standin::Faults::instance().next(call);
  if (fault == 0) return CUBLAS_STATUS_SUCCESS;
  return fault > 0 ? static_cast<cublasStatus_t>(fault) : CUBLAS_STATUS_ALLOC_FAILED;
}

#define STANDIN_CUBLAS_HANDLE(object, handle)            \
  const cublasStatus_t entered = enter(__func__);        \
  if (entered != CUBLAS_STATUS_SUCCESS) return entered;  \
  const auto object = handles().find(handle);            \
  if (object == nullptr) {                               \
    Report::instance().violation(__func__, "no handle"); \
    return CUBLAS_STATUS_NOT_INITIALIZED;                \
  }

}  // namespace

extern "C" {

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  const cublasStatus_t entered = enter(__func__);
  if (entered != CUBLAS_STATUS_SUCCESS) return entered;
  if (standin::settings().no_driver) return CUBLAS_STATUS_NOT_INITIALIZED;
  auto object = std::make_shared<Handle>();
  object->device = Devices::current();
  *handle = static_cast<cublasHandle_t>(handles().add(std::move(object)));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  if (handles().remove(handle) != nullptr) return CUBLAS_STATUS_SUCCESS;
  Report::instance().violation(__func__, "no handle");
  return CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  STANDIN_CUBLAS_HANDLE(object, handle);
  const auto found = Devices::instance().stream(stream);
  if (found == nullptr || (stream != nullptr && found->device() != object->device)) {
    Report::instance().violation(__func__, "no stream of the handle's device");
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  object->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream) {
  STANDIN_CUBLAS_HANDLE(object, handle);
  *stream = object->stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
  STANDIN_CUBLAS_HANDLE(object, handle);
  object->mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t* mode) {
  STANDIN_CUBLAS_HANDLE(object, handle);
  *mode = object->mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  STANDIN_CUBLAS_HANDLE(object, handle);
  object->math = mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  STANDIN_CUBLAS_HANDLE(object, handle);
  *mode = object->math;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
  STANDIN_CUBLAS_HANDLE(object, handle);
  object->atomics = mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t* mode) {
  STANDIN_CUBLAS_HANDLE(object, handle);
  *mode = object->atomics;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetEmulationStrategy(cublasHandle_t handle, cublasEmulationStrategy_t how) {
  STANDIN_CUBLAS_HANDLE(object, handle);
  object->emulation = how;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetEmulationStrategy(cublasHandle_t handle, cublasEmulationStrategy_t* how) {
  STANDIN_CUBLAS_HANDLE(object, handle);
  *how = object->emulation;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* p, size_t bytes) {
  STANDIN_CUBLAS_HANDLE(object, handle);
  standin::Access access(__func__, object->device);
  access.region(p, bytes, bytes, bytes == 0 ? 0 : 1, standin::Intent::write, 256);
  return access.ok() ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
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
