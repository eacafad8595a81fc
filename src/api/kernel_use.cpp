#include "api/kernel_use.hpp"

#include "api/handles.hpp"

namespace ob::api {

Result<KernelUse> KernelUse::begin(ob_kernel handle) {
  OB_ASSIGN_OR_RETURN(auto kernel, find<Kernel>(handle));
  if (kernel->in_use_.exchange(true, std::memory_order_acquire)) {
    return Status(Code::invalid_argument,
                  "the kernel is in use by another thread (its arguments would be chance); give "
                  "each thread a kernel object");
  }
  return KernelUse(std::move(kernel));
}

}  // namespace ob::api
