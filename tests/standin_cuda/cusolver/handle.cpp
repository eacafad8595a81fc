// cusolver: handles and parameters.

#include <memory>

#include "cusolver/call.hpp"
#include "cusolver/parameters.hpp"

using standin::Report;
using standin::solver::Handle;
using standin::solver::Parameters;
using Handles = standin::Handling<standin::solver::Library>;

extern "C" {

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle) {
  return Handles::create(__func__, handle);
}

cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) {
  return Handles::destroy(__func__, handle);
}

cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
  return Handles::set_stream(__func__, handle, stream);
}

cusolverStatus_t cusolverDnGetStream(cusolverDnHandle_t handle, cudaStream_t* stream) {
  return Handles::get<cudaStream_t>(__func__, handle, &Handle::stream, stream);
}

cusolverStatus_t cusolverDnSetDeterministicMode(cusolverDnHandle_t handle,
                                                cusolverDeterministicMode_t mode) {
  return Handles::set(__func__, handle, &Handle::deterministic, mode);
}

cusolverStatus_t cusolverDnGetDeterministicMode(cusolverDnHandle_t handle,
                                                cusolverDeterministicMode_t* mode) {
  return Handles::get(__func__, handle, &Handle::deterministic, mode);
}

cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t* handle) {
  const cusolverStatus_t entered = Handles::enter(__func__);
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
