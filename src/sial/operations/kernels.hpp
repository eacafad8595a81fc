#pragma once
// The inner loops of the block operations, chosen for this processor.

#include <cstdint>

namespace ob::sial {

/// One set of loops per instruction set. Operands do not overlap.   Threads: any
struct Kernels {
  /// C := alpha A B + beta C. A is m x k, column-major; element (p, j) of B is
  /// b[p stride_b + j ldb]. C is not read if beta is 0.
  void (*product)(std::int64_t m, std::int64_t n, std::int64_t k, double alpha, const double* a,
                  std::int64_t lda, const double* b, std::int64_t stride_b, std::int64_t ldb,
                  double beta, double* c, std::int64_t ldc);
};

/// The fastest loops that this processor can run.
const Kernels& kernels() noexcept;
/// The loops for every processor.
const Kernels& baseline_kernels() noexcept;

}  // namespace ob::sial
