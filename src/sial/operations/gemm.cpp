#include "sial/operations/gemm.hpp"

#include <algorithm>
#include <memory>

#include "device/permute/moves.hpp"
#include "sial/operations/kernels.hpp"

namespace ob::sial {
namespace {

constexpr std::int64_t kRows = 64;  // 64 x 64 doubles of A fill the first-level cache
constexpr std::int64_t kDepth = 64;
constexpr std::int64_t kColumns = 512;  // the panel of B stays in the second-level cache

}  // namespace

void LoopGemm::run(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k,
                   double alpha, const double* a, std::int64_t lda, const double* b,
                   std::int64_t ldb, double beta, double* c, std::int64_t ldc) {
  const Kernels& loops = kernels();
  if (transa == 'N' && m * k <= kRows * kDepth && n <= kColumns) {  // fits the cache where it is
    loops.product(m, n, k, alpha, a, lda, b, transb == 'N' ? 1 : ldb, transb == 'N' ? ldb : 1, beta,
                  c, ldc);
    return;
  }
  alignas(64) double packed[kRows * kDepth];
  for (std::int64_t j = 0; j < n; j += kColumns) {
    const std::int64_t columns = std::min(kColumns, n - j);
    for (std::int64_t p = 0; p < k; p += kDepth) {
      const std::int64_t depth = std::min(kDepth, k - p);
      const double* part_b = transb == 'N' ? b + p + j * ldb : b + j + p * ldb;
      for (std::int64_t i = 0; i < m; i += kRows) {
        const std::int64_t rows = std::min(kRows, m - i);
        if (transa == 'N') {
          for (std::int64_t q = 0; q < depth; ++q) {
            std::copy_n(a + i + (p + q) * lda, rows, packed + q * kRows);
          }
        } else {
          moves().transpose(packed, kRows, a + p + i * lda, lda, rows, depth, 1, 0);
        }
        loops.product(rows, columns, depth, alpha, packed, kRows, part_b, transb == 'N' ? 1 : ldb,
                      transb == 'N' ? ldb : 1, p == 0 ? beta : 1, c + i + j * ldc, ldc);
      }
    }
  }
}

}  // namespace ob::sial
