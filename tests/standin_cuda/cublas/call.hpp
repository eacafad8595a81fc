#pragma once
// One call of cuBLAS: its handle, its scalars and its operands.

#include <cublas_v2.h>

#include "core/address_space.hpp"
#include "core/library_call.hpp"
#include "core/numbers.hpp"

namespace standin::blas {

/// The object behind a cublasHandle_t.
struct Handle : LibraryHandle {
  cublasPointerMode_t mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasAtomicsMode_t atomics = CUBLAS_ATOMICS_NOT_ALLOWED;
  cublasEmulationStrategy_t emulation = CUBLAS_EMULATION_STRATEGY_DEFAULT;
};

struct Library {
  using Handle = blas::Handle;
  using Status = cublasStatus_t;
  static constexpr Status kSuccess = CUBLAS_STATUS_SUCCESS;
  static constexpr Status kNotInitialized = CUBLAS_STATUS_NOT_INITIALIZED;
  static constexpr Status kInvalidValue = CUBLAS_STATUS_INVALID_VALUE;
  static constexpr Status kNotSupported = CUBLAS_STATUS_NOT_SUPPORTED;
  static constexpr Status kExecutionFailed = CUBLAS_STATUS_EXECUTION_FAILED;
  static constexpr Status kAllocFailed = CUBLAS_STATUS_ALLOC_FAILED;
  static constexpr Status kFault = CUBLAS_STATUS_EXECUTION_FAILED;
  static LiveSet<Handle>& handles();
};

/// A number that the work reads when it runs: a copy of the host's, or the device's memory.
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

class Call : public LibraryCall<Library> {
 public:
  using LibraryCall::LibraryCall;

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
  /// Returns the place of a result: host memory, where the call waits for it, or device memory.
  template <class T>
  T* result(T* p) {
    if (!good()) return nullptr;
    if (handle_->mode == CUBLAS_POINTER_MODE_DEVICE) return access.out(p, 1);
    waits_ = true;
    return host(p) ? p : nullptr;
  }

  cublasStatus_t submit(std::function<void()> work);
  /// Returns the status of a call that has nothing to do.
  cublasStatus_t quick() const noexcept { return status(); }

 private:
  bool host(const void* p);

  bool waits_ = false;
};

}  // namespace standin::blas
