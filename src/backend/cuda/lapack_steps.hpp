#pragma once
// The steps of composed LAPACK routines.

#include <cstdint>

#include "backend/cuda/stream_context.hpp"
#include "backend/cuda/sub_call.hpp"

namespace ob::cuda {

/// A routine in progress. Its steps are submitted to the stream; those that return an info wait.
/// Errors of all: as run_lapack
class LapackSteps {
 public:
  LapackSteps(StreamContext& context, const Descriptor& routine)
      : context_(context), routine_(routine) {}

  using Info = Result<std::int64_t>;

  /// Runs a function of cuSOLVER.
  Info solve(const SubCall& call);
  /// Submits a function of cuBLAS.
  Status multiply(const SubCall& call);
  /// Returns 1 + the position of the first zero on the diagonal of an n x n matrix; 0 if there is
  /// none.
  Info first_zero(std::int64_t n, HostOperand a);
  /// B := A^H, A m x n.
  Status conjugate_transpose(std::int64_t m, std::int64_t n, HostOperand a, HostOperand b);
  /// A := I, n x n.
  Status set_identity(std::int64_t n, HostOperand a);
  /// B := A, m x n.
  Status copy(std::int64_t m, std::int64_t n, HostOperand a, HostOperand b);
  /// A := 0, m x n.
  Status clear(std::int64_t m, std::int64_t n, HostOperand a);
  /// Takes workspace for a dense m x n matrix.
  Result<HostOperand> matrix(std::int64_t m, std::int64_t n);

  /// The matrix that begins at element (row, col).
  HostOperand at(HostOperand a, std::int64_t row, std::int64_t col) const {
    auto* const data = static_cast<std::byte*>(a.data);
    return {data + (row + col * a.ld) * element_bytes(routine_.precision), a.ld};
  }
  /// 'T', or 'C' if numbers are complex.
  char adjoint() const { return SubCall::is_complex(routine_.precision) ? 'C' : 'T'; }
  const Descriptor& routine() const { return routine_; }

 private:
  StreamContext& context_;
  const Descriptor& routine_;
};

}  // namespace ob::cuda
