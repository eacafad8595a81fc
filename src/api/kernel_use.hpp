#pragma once

#include <memory>
#include <utility>

#include "api/kernel_objects.hpp"
#include "base/status.hpp"
#include "outboard/device.h"

namespace ob::api {

/// The use of a kernel by one thread.
class KernelUse {
 public:
  /// Errors: those of find(); invalid_argument if another thread uses the kernel
  static Result<KernelUse> begin(ob_kernel handle);
  KernelUse(KernelUse&& other) noexcept = default;
  ~KernelUse() {
    if (kernel_ != nullptr) kernel_->in_use_.store(false, std::memory_order_release);
  }

  Kernel& operator*() const noexcept { return *kernel_; }
  Kernel* operator->() const noexcept { return kernel_.get(); }

 private:
  explicit KernelUse(std::shared_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}
  std::shared_ptr<Kernel> kernel_;
};

}  // namespace ob::api
