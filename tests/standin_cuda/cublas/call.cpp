#include "cublas/call.hpp"

namespace standin::blas {

LiveSet<Handle>& Library::handles() {
  static auto* const kHandles = new LiveSet<Handle>("cublas handle(s)");
  return *kHandles;
}

bool Call::host(const void* p) {
  if (p != nullptr && !AddressSpace::instance().inside(p)) return true;
  access.refuse("a device's pointer, or none, where one of the host is wanted");
  return false;
}

cublasStatus_t Call::submit(std::function<void()> work) {
  const cublasStatus_t submitted = LibraryCall::submit(std::move(work));
  if (submitted != CUBLAS_STATUS_SUCCESS || !waits_) return submitted;
  Order::instance().synchronize(*stream_);
  return Devices::instance().sticky(handle_->device) == cudaSuccess
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // namespace standin::blas
