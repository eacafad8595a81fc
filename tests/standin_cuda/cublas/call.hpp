#pragma once
// One call of cuBLAS: its handle, its scalars, its operands.

#include <cublas_v2.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "core/access.hpp"
#include "core/address_space.hpp"
#include "core/live_set.hpp"
#include "core/numbers.hpp"
#include "core/stream.hpp"

namespace standin::blas {

/// What a cublasHandle_t is. Of the device that was current when it was made.
struct Handle {
  int device = 0;
  cudaStream_t stream = nullptr;
  cublasPointerMode_t mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasAtomicsMode_t atomics = CUBLAS_ATOMICS_NOT_ALLOWED;
  cublasEmulationStrategy_t emulation = CUBLAS_EMULATION_STRATEGY_DEFAULT;
  std::atomic<int> users{0};  ///< threads inside of a call with it
};

LiveSet<Handle>& handles();

/// A number that is read when the work runs: now, from the host, or later, from the device.
template <class T>
class Scalar {
 public:
  Scalar() = default;
  explicit Scalar(T value) : value_(value) {}
  explicit Scalar(const T* later) : later_(later) {}
  T get() const { return later_ != nullptr ? *later_ : value_; }

 private:
  T value_{};
  const T* later_ = nullptr;
};

/// Lives as long as the function that it belongs to. The first broken rule decides the status.
class Call {
 public:
  Call(const char* name, cublasHandle_t handle);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// An argument that cuBLAS refuses, too.
  void need(bool condition, const char* what);
  /// Handed to OpenBLAS, whose integers have 32 bits.
  int size(std::int64_t n);

  template <class T>
  Scalar<T> scalar(const T* p) {
    if (!good()) return {};
    if (handle_->mode == CUBLAS_POINTER_MODE_DEVICE) {
      Access scalars(access.call(), handle_->device, true);
      const T* later = scalars.in(p, 1);
      if (!scalars.ok()) status_ = CUBLAS_STATUS_EXECUTION_FAILED;
      access.join(scalars);
      return Scalar<T>(later);
    }
    if (!host(p)) return {};
    return Scalar<T>(*p);
  }
  /// Where a result goes: the host's memory, for which the call waits, or the device's.
  template <class T>
  T* result(T* p) {
    if (!good()) return nullptr;
    if (handle_->mode == CUBLAS_POINTER_MODE_DEVICE) return access.out(p, 1);
    waits_ = true;
    return host(p) ? p : nullptr;
  }

  /// True if no rule was broken so far.
  bool good() const noexcept { return status_ == CUBLAS_STATUS_SUCCESS && access.ok(); }
  cublasStatus_t submit(std::function<void()> work);
  /// Nothing to do.
  cublasStatus_t quick() const noexcept { return status(); }
  cublasStatus_t status() const noexcept {
    return access.ok() ? status_ : CUBLAS_STATUS_EXECUTION_FAILED;
  }

 private:
  static int device_of(cublasHandle_t handle);
  bool host(const void* p);

  const std::shared_ptr<Handle> handle_;
  cublasStatus_t status_ = CUBLAS_STATUS_SUCCESS;
  std::shared_ptr<Stream> stream_;
  bool waits_ = false;

 public:
  Access access;  ///< the operands
};

}  // namespace standin::blas
