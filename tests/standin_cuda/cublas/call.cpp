#include "cublas/call.hpp"

#include <limits>

#include "core/devices.hpp"
#include "core/faults.hpp"
#include "core/order.hpp"
#include "core/report.hpp"

namespace standin::blas {

LiveSet<Handle>& handles() {
  static auto* const kHandles = new LiveSet<Handle>("cublas handle(s)");
  return *kHandles;
}

int Call::device_of(cublasHandle_t handle) {
  const auto found = handles().find(handle);
  return found == nullptr ? 0 : found->device;
}

Call::Call(const char* name, cublasHandle_t handle)
    : handle_(handles().find(handle)), access(name, device_of(handle)) {
  const int fault = Faults::instance().next(name);
  Report& report = Report::instance();
  if (handle_ == nullptr) {
    report.violation(name, "no handle");
    status_ = CUBLAS_STATUS_NOT_INITIALIZED;
    return;
  }
  if (handle_->users++ != 0) report.violation(name, "two threads use one handle at a time");
  Devices& devices = Devices::instance();
  if (handle_->device != Devices::current()) {
    report.violation(name, "the handle is of another device than the current one");
    status_ = CUBLAS_STATUS_EXECUTION_FAILED;
  }
  stream_ = handle_->stream == nullptr ? devices.default_stream(handle_->device)
                                       : devices.stream(handle_->stream);
  if (stream_ == nullptr) {
    report.violation(name, "the handle's stream is gone");
    status_ = CUBLAS_STATUS_EXECUTION_FAILED;
  }
  if (devices.sticky(handle_->device) != cudaSuccess) status_ = CUBLAS_STATUS_EXECUTION_FAILED;
  if (fault != 0)
    status_ = fault > 0 ? static_cast<cublasStatus_t>(fault) : CUBLAS_STATUS_EXECUTION_FAILED;
}

Call::~Call() {
  if (handle_ != nullptr) --handle_->users;
}

void Call::need(bool condition, const char* what) {
  if (condition || !good()) return;
  Report::instance().violation(access.call(), std::string("not ") + what);
  status_ = CUBLAS_STATUS_INVALID_VALUE;
}

int Call::size(std::int64_t n) {
  if (n > std::numeric_limits<int>::max()) {
    if (good()) status_ = CUBLAS_STATUS_NOT_SUPPORTED;
    return 0;
  }
  return static_cast<int>(n);
}

bool Call::host(const void* p) {
  if (p != nullptr && !AddressSpace::instance().inside(p)) return true;
  access.refuse("a device's pointer, or none, where one of the host is wanted");
  return false;
}

cublasStatus_t Call::submit(std::function<void()> work) {
  if (!good()) return status();
  Order& order = Order::instance();
  order.submit(stream_, access, [work = std::move(work)] {
    work();
    return cudaSuccess;
  });
  if (!waits_) return CUBLAS_STATUS_SUCCESS;
  order.synchronize(*stream_);
  return Devices::instance().sticky(handle_->device) == cudaSuccess
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // namespace standin::blas
