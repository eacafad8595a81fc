// cusolver: handles and parameters.

#include <memory>

#include "core/devices.hpp"
#include "core/faults.hpp"
#include "core/report.hpp"
#include "core/settings.hpp"
#include "cusolver/call.hpp"
#include "cusolver/parameters.hpp"

using standin::Devices;
using standin::Report;
using standin::solver::Handle;
using standin::solver::handles;
using standin::solver::Parameters;

namespace {

cusolverStatus_t enter(const char* call) {
  const int fault = standin::Faults::instance().next(call);
  if (fault == 0) return CUSOLVER_STATUS_SUCCESS;
  return fault > 0 ? static_cast<cusolverStatus_t>(fault) : CUSOLVER_STATUS_ALLOC_FAILED;
}

#define STANDIN_CUSOLVER_HANDLE(object, handle)           \
  const cusolverStatus_t entered = enter(__func__);       \
  if (entered != CUSOLVER_STATUS_SUCCESS) return entered; \
  const auto object = handles().find(handle);             \
  if (object == nullptr) {                                \
    Report::instance().violation(__func__, "no handle");  \
    return CUSOLVER_STATUS_NOT_INITIALIZED;               \
  }

}  // namespace

extern "C" {

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle) {
  const cusolverStatus_t entered = enter(__func__);
  if (entered != CUSOLVER_STATUS_SUCCESS) return entered;
  if (standin::settings().no_driver) return CUSOLVER_STATUS_NOT_INITIALIZED;
  auto object = std::make_shared<Handle>();
  object->device = Devices::current();
  *handle = static_cast<cusolverDnHandle_t>(handles().add(std::move(object)));
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) {
  if (handles().remove(handle) != nullptr) return CUSOLVER_STATUS_SUCCESS;
  Report::instance().violation(__func__, "no handle");
  return CUSOLVER_STATUS_NOT_INITIALIZED;
}

cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
  STANDIN_CUSOLVER_HANDLE(object, handle);
  const auto found = Devices::instance().stream(stream);
  if (found == nullptr || (stream != nullptr && found->device() != object->device)) {
    Report::instance().violation(__func__, "no stream of the handle's device");
    return CUSOLVER_STATUS_INVALID_VALUE;
  }
  object->stream = stream;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnGetStream(cusolverDnHandle_t handle, cudaStream_t* stream) {
  STANDIN_CUSOLVER_HANDLE(object, handle);
  *stream = object->stream;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnSetDeterministicMode(cusolverDnHandle_t handle,
                                                cusolverDeterministicMode_t mode) {
  STANDIN_CUSOLVER_HANDLE(object, handle);
  object->deterministic = mode;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnGetDeterministicMode(cusolverDnHandle_t handle,
                                                cusolverDeterministicMode_t* mode) {
  STANDIN_CUSOLVER_HANDLE(object, handle);
  *mode = object->deterministic;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t* handle) {
  const cusolverStatus_t entered = enter(__func__);
  if (entered != CUSOLVER_STATUS_SUCCESS) return entered;
  *handle = static_cast<cusolverDnParams_t>(
      standin::solver::parameters().add(std::make_shared<Parameters>()));
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t handle) {
  if (standin::solver::parameters().remove(handle) != nullptr) return CUSOLVER_STATUS_SUCCESS;
  Report::instance().violation(__func__, "no parameters");
  return CUSOLVER_STATUS_INVALID_VALUE;
}

cusolverStatus_t cusolverDnSetAdvOptions(cusolverDnParams_t handle, cusolverDnFunction_t,
                                         cusolverAlgMode_t) {
  if (standin::solver::parameters().find(handle) != nullptr) return CUSOLVER_STATUS_SUCCESS;
  Report::instance().violation(__func__, "no parameters");
  return CUSOLVER_STATUS_INVALID_VALUE;
}

cusolverStatus_t cusolverGetVersion(int* version) {
  *version = CUSOLVER_VERSION;
  return CUSOLVER_STATUS_SUCCESS;
}

}  // extern "C"
