#pragma once
// The inner loops of the block operations, chosen for this processor.

#include <cstdint>

namespace ob::sial {

enum class Store : int { copy = 0, scale = 1, add = 2 };

/// One set of loops per instruction set. Operands do not overlap.   Threads: any
struct Kernels {
  /// d[i + j ldd] := b[j + i ldb] for i < rows, j < columns; times alpha (scale), or added (add).
  void (*transpose)(double* d, std::int64_t ldd, const double* b, std::int64_t ldb,
                    std::int64_t rows, std::int64_t columns, double alpha, int store);
  /// d[i + j ldd] := b[i + j ldb], the same otherwise. D and B may be the same elements.
  void (*runs)(double* d, std::int64_t ldd, const double* b, std::int64_t ldb, std::int64_t rows,
               std::int64_t columns, double alpha, int store);
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
