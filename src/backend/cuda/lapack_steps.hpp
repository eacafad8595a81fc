#pragma once
// The steps of composed LAPACK routines.

#include <cstdint>
#include <vector>

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
  /// Runs the row's own function of cuSOLVER.
  Info solve_row(const Argument* arguments);
  /// Submits a function of cuBLAS.
  Status multiply(const SubCall& call);
  /// Returns 1 + the position of the first zero on the diagonal of an n x n matrix; 0 if there is
  /// none.
  Info first_zero(std::int64_t n, HostOperand a);
  /// Returns the pivot that makes the diagonal blocks of a symmetric indefinite factorization
  /// singular, as the reference's sytrf reports it: the first diagonal element of size 1 that is
  /// zero, in the order of the elimination; 0 if there is none.
  Info first_zero_pivot(char uplo, std::int64_t n, HostOperand a, HostOperand pivots);
  /// Copies the diagonal of an n x n matrix into workspace.
  Result<HostOperand> copy_diagonal(std::int64_t n, HostOperand a);
  /// Sets the diagonal that begins at the first element of `a`.
  /// @param diagonal n packed numbers; real ones if `real`, also for a complex matrix
  Status set_diagonal(std::int64_t n, HostOperand diagonal, bool real, HostOperand a);
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

  /// Brings n eigenvalues that do not ascend into order, and the columns of A (n x n) with them.
  /// @param a data nullptr: there are no vectors
  Status sort_eigenvalues(std::int64_t n, void* values, HostOperand a);

 private:
  // Copies device memory to the host and waits for it.
  Result<PinnedBlock> read(const void* source, std::uint64_t bytes);
  template <class Real>
  Status sort_as(std::int64_t n, void* values, HostOperand a);
  // Says for each element of the diagonal whether it is zero.
  Result<std::vector<bool>> zero_elements(std::int64_t n, HostOperand a);

  StreamContext& context_;
  const Descriptor& routine_;
};

}  // namespace ob::cuda
