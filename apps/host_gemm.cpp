#include "host_gemm.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "backend/cpu/blas_library.hpp"

namespace ob::apps {
namespace {

using Dgemm = void(const char*, const char*, const int*, const int*, const int*, const double*,
                   const double*, const int*, const double*, const int*, const double*, double*,
                   const int*, std::size_t, std::size_t);

// The library takes 32-bit integers. Larger numbers, which no block reaches, take the loops.
bool fits(std::int64_t number) { return number <= INT32_MAX; }

class LibraryGemm final : public sial::Gemm {
 public:
  LibraryGemm(std::unique_ptr<cpu::BlasLibrary> library, Dgemm* dgemm)
      : library_(std::move(library)), dgemm_(dgemm) {}

  void run(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
           const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double beta,
           double* c, std::int64_t ldc) override {
    if (!fits(std::max({m, n, k, lda, ldb, ldc}))) {
      return loops_.run(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    }
    const int size_m = static_cast<int>(m);
    const int size_n = static_cast<int>(n);
    const int size_k = static_cast<int>(k);
    const int ld_a = static_cast<int>(lda);
    const int ld_b = static_cast<int>(ldb);
    const int ld_c = static_cast<int>(ldc);
    dgemm_(&transa, &transb, &size_m, &size_n, &size_k, &alpha, a, &ld_a, b, &ld_b, &beta, c, &ld_c,
           1, 1);
  }

 private:
  std::unique_ptr<cpu::BlasLibrary> library_;
  Dgemm* dgemm_;
  sial::LoopGemm loops_;
};

}  // namespace

Result<std::unique_ptr<sial::Gemm>> open_host_gemm(unsigned threads) {
  OB_ASSIGN_OR_RETURN(auto library, cpu::BlasLibrary::open({.threads = threads}));
  auto* const dgemm = reinterpret_cast<Dgemm*>(library->symbol("dgemm_"));
  if (dgemm == nullptr) {
    return Status(Code::unavailable, "the BLAS library has no dgemm (" + library->description() +
                                         "); install the Debian package libopenblas0-pthread");
  }
  return std::unique_ptr<sial::Gemm>(std::make_unique<LibraryGemm>(std::move(library), dgemm));
}

}  // namespace ob::apps
