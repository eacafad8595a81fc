#pragma once
// The matrix product that contractions run on.

#include <cstdint>

namespace ob::sial {

/// C := alpha op(A) op(B) + beta C in double precision, column-major. With beta = 0, C is not read.
/// Source: BLAS, DGEMM
class Gemm {
 public:
  virtual ~Gemm() = default;
  virtual void run(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k,
                   double alpha, const double* a, std::int64_t lda, const double* b,
                   std::int64_t ldb, double beta, double* c, std::int64_t ldc) = 0;
};

}  // namespace ob::sial
