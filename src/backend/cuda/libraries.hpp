#pragma once
// NVIDIA's libraries, each opened when it is first needed.

#include <memory>
#include <mutex>
#include <optional>

#include "backend/cuda/blas_table.hpp"
#include "backend/cuda/driver.hpp"
#include "backend/cuda/fft_table.hpp"
#include "backend/cuda/nvrtc_table.hpp"
#include "backend/cuda/runtime.hpp"
#include "backend/cuda/solver_table.hpp"

namespace ob::cuda {

/// The runtime is open from the start. The others are opened on first use, because they are large
/// (cuBLAS takes 60 ms and 150 MB) and many daemons need only some. A failed library is not tried
/// again.
/// Memory: tables live as long as this object   Threads: any
class Libraries {
 public:
  /// Errors: unavailable without a runtime library
  static Result<std::unique_ptr<Libraries>> open();

  const Runtime& runtime() const noexcept { return runtime_; }
  /// Errors of these functions: unavailable, each time the same
  Result<const Driver*> driver() const;
  Result<const BlasTable*> blas() const;
  Result<const SolverTable*> solver() const;
  Result<const FftTable*> fft() const;
  Result<const NvrtcTable*> nvrtc() const;

 private:
  template <class Table>
  struct Later {
    std::once_flag once;
    std::optional<Result<Table>> table;
  };
  template <class Table, class Open>
  static Result<const Table*> get(Later<Table>& later, Open&& open);

  explicit Libraries(const Runtime& runtime) : runtime_(runtime) {}

  const Runtime runtime_;
  mutable Later<Driver> driver_;
  mutable Later<BlasTable> blas_;
  mutable Later<SolverTable> solver_;
  mutable Later<FftTable> fft_;
  mutable Later<NvrtcTable> nvrtc_;
};

}  // namespace ob::cuda
