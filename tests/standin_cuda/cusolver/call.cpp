#include "cusolver/call.hpp"

#include <cstring>
#include <limits>

#include "core/address_space.hpp"
#include "core/devices.hpp"
#include "core/faults.hpp"
#include "core/order.hpp"
#include "core/report.hpp"

namespace standin::solver {

LiveSet<Handle>& handles() {
  static auto* const kHandles = new LiveSet<Handle>("cusolver handle(s)");
  return *kHandles;
}

int Call::device_of(cusolverDnHandle_t handle) {
  const auto found = handles().find(handle);
  return found == nullptr ? 0 : found->device;
}

Call::Call(const char* name, cusolverDnHandle_t handle)
    : handle_(handles().find(handle)), access(name, device_of(handle)) {
  const int fault = Faults::instance().next(name);
  Report& report = Report::instance();
  if (handle_ == nullptr) {
    report.violation(name, "no handle");
    status_ = CUSOLVER_STATUS_NOT_INITIALIZED;
    return;
  }
  if (handle_->users++ != 0) report.violation(name, "two threads use one handle at a time");
  Devices& devices = Devices::instance();
  if (handle_->device != Devices::current()) {
    report.violation(name, "the handle is of another device than the current one");
    status_ = CUSOLVER_STATUS_EXECUTION_FAILED;
  }
  stream_ = handle_->stream == nullptr ? devices.default_stream(handle_->device)
                                       : devices.stream(handle_->stream);
  if (stream_ == nullptr) {
    report.violation(name, "the handle's stream is gone");
    status_ = CUSOLVER_STATUS_EXECUTION_FAILED;
  }
  if (devices.sticky(handle_->device) != cudaSuccess) status_ = CUSOLVER_STATUS_EXECUTION_FAILED;
  if (fault != 0)
    status_ = fault > 0 ? static_cast<cusolverStatus_t>(fault) : CUSOLVER_STATUS_INTERNAL_ERROR;
}

Call::~Call() {
  if (handle_ != nullptr) --handle_->users;
}

void Call::need(bool condition, const char* what) {
  if (condition || !good()) return;
  Report::instance().violation(access.call(), std::string("not ") + what);
  status_ = CUSOLVER_STATUS_INVALID_VALUE;
}

int Call::size(std::int64_t n) {
  if (n > std::numeric_limits<int>::max() && good()) status_ = CUSOLVER_STATUS_NOT_SUPPORTED;
  return static_cast<int>(n);
}

void Call::workspace(void* p, std::size_t given, std::size_t wanted) {
  if (!good()) return;
  if (given < wanted) {
    access.refuse("a workspace of " + std::to_string(given) + " bytes where " +
                  std::to_string(wanted) + " are wanted");
    return;
  }
  spoilt_ = access.region(p, given, given, given == 0 ? 0 : 1, Intent::write, 16);
  spoilt_bytes_ = given;
}

void Call::host_workspace(void* p, std::size_t given, std::size_t wanted) {
  if (!good()) return;
  if (given < wanted || (wanted != 0 && p == nullptr)) {
    access.refuse("too small a workspace of the host");
  } else if (AddressSpace::instance().inside(p)) {
    access.refuse("a device's pointer where one of the host is wanted");
  } else if (p != nullptr) {
    std::memset(p, 0xFF, given);
  }
}

cusolverStatus_t Call::submit(std::function<void()> work) {
  if (!good()) return status();
  Order::instance().submit(stream_, access,
                           [work = std::move(work), at = spoilt_, bytes = spoilt_bytes_] {
                             if (at != nullptr) std::memset(at, 0xFF, bytes);
                             work();
                             return cudaSuccess;
                           });
  return CUSOLVER_STATUS_SUCCESS;
}

}  // namespace standin::solver
