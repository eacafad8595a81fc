#include "entry.hpp"

#include "core/devices.hpp"
#include "core/faults.hpp"
#include "core/report.hpp"
#include "core/settings.hpp"

namespace standin {

cudaError_t enter(const char* call, cudaError_t otherwise) {
  const int fault = Faults::instance().next(call);
  if (settings().no_driver) return cudaErrorInsufficientDriver;
  Devices& devices = Devices::instance();
  if (devices.count() == 0) return cudaErrorNoDevice;
  const cudaError_t sticky = devices.sticky(Devices::current());
  if (sticky != cudaSuccess) return sticky;
  if (fault == 0) return cudaSuccess;
  const cudaError_t error = fault > 0 ? static_cast<cudaError_t>(fault) : otherwise;
  // These errors poison the device, as they do with CUDA.
  if (error >= cudaErrorIllegalAddress && error <= cudaErrorLaunchFailure)
    devices.poison(Devices::current(), error);
  return error;
}

cudaError_t& last_error() {
  thread_local cudaError_t error = cudaSuccess;
  return error;
}

cudaError_t leave(cudaError_t error) {
  // CUDA remembers cudaErrorNotReady, too.
  if (error != cudaSuccess) last_error() = error;
  return error;
}

cudaError_t refuse(const char* call, const char* what, cudaError_t error) {
  Report::instance().violation(call, what);
  return leave(error);
}

}  // namespace standin
