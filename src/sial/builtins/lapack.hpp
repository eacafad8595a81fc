#pragma once
// The LAPACK routines that super-instructions call.

#include <cstdint>

#include "base/status.hpp"

namespace ob::sial {

/// Matrices are dense and column-major: the leading dimension is the number of rows.
/// Errors: invalid_argument if the routine reports that the matrix does not allow the operation;
///         out_of_memory without a workspace
/// Threads: owner only
class Lapack {
 public:
  virtual ~Lapack() = default;
  /// A returns eigenvectors, w eigenvalues ascending. Reads the lower triangle.   Source: DSYEVD
  virtual Status eigen(std::int64_t n, double* a, double* w) = 0;
  /// A x = w B x with x'Bx = 1; B returns its lower Cholesky factor.   Source: DSYGVD
  virtual Status eigen_generalized(std::int64_t n, double* a, double* b, double* w) = 0;
  /// B returns A^(-1) B; A is destroyed.   Source: DGESV
  virtual Status solve(std::int64_t n, std::int64_t columns, double* a, double* b) = 0;
  /// A returns the lower factor in its lower triangle.   Source: DPOTRF
  virtual Status cholesky(std::int64_t n, double* a) = 0;
  /// A = U diag(s) VT with U m x k, VT k x n, k = min(m, n). A is destroyed.   Source: DGESDD
  virtual Status svd(std::int64_t m, std::int64_t n, double* a, double* s, double* u,
                     double* vt) = 0;
};

}  // namespace ob::sial
