#pragma once
// The libraries and kernels of a device, each opened or compiled when it is first needed.

#include <mutex>
#include <optional>

#include "backend/opencl/blas_table.hpp"
#include "backend/opencl/kernels.hpp"

namespace ob::opencl {

/// A library that could not be opened, or kernels that could not be compiled, are not tried again.
/// Memory: lives as long as its device's queues   Threads: any
class Libraries {
 public:
  Libraries(const Cl& cl, const Accelerator& accelerator) : cl_(cl), accelerator_(accelerator) {}

  /// Errors: unavailable, each time the same
  Result<const BlasTable*> blas() const;
  /// Errors: device_error, with the compiler's words
  Result<const Kernels*> kernels() const;

 private:
  template <class T>
  struct Later {
    std::once_flag once;
    std::optional<Result<T>> made;
  };
  template <class T, class Make>
  static Result<const T*> get(Later<T>& later, Make&& make) {
    std::call_once(later.once, [&] { later.made.emplace(make()); });
    if (!later.made->ok()) return later.made->status();
    return static_cast<const T*>(&later.made->value());
  }

  const Cl& cl_;
  const Accelerator& accelerator_;
  mutable Later<BlasTable> blas_;
  mutable Later<Kernels> kernels_;
};

}  // namespace ob::opencl
