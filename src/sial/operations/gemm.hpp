#pragma once
// The matrix product that contractions call.

#include <cstdint>

namespace ob::sial {

/// Computes C := alpha op(A) op(B) + beta C, as DGEMM of the BLAS does: column-major, trans is 'N'
/// or 'T', and C is not read if beta is 0.   Threads: owner only
class Gemm {
 public:
  virtual ~Gemm() = default;
  virtual void run(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k,
                   double alpha, const double* a, std::int64_t lda, const double* b,
                   std::int64_t ldb, double beta, double* c, std::int64_t ldc) = 0;
};

/// Blocked loops, for tests and for machines without a BLAS library.
/// Memory: 32 KiB of stack
class LoopGemm final : public Gemm {
 public:
  void run(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
           const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double beta,
           double* c, std::int64_t ldc) override;
};

}  // namespace ob::sial
