// Compares gemmt, computed as several gemms, with one gemm.

#include "backend/cpu/substitutes.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <vector>

#include "backend/cpu/blas_library.hpp"
#include "support/random.hpp"

namespace ob::cpu {
namespace {

using Value = std::complex<double>;

struct Matrix {
  std::int64_t ld;
  std::vector<Value> values;
  Matrix(std::int64_t rows, std::int64_t cols, std::mt19937_64& random)
      : ld(rows + 3), values(static_cast<std::size_t>(ld * cols)) {
    std::uniform_real_distribution<double> unit(-1, 1);
    for (Value& v : values) v = {unit(random), unit(random)};
  }
  HostOperand operand() { return {values.data(), ld}; }
};

std::size_t index_of(const char* name) {
  return static_cast<std::size_t>(routines::find(name) - routines::all().data());
}

class SubstitutesTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = SharedObject::open("libopenblas.so.0");
    if (!opened.ok()) opened = SharedObject::open("libblas.so.3");
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    library_.emplace(std::move(opened).value());
  }
  void* symbol(const char* name) const { return library_->symbol(name); }

  std::optional<SharedObject> library_;
};

// Covers more than one block, whole and partial blocks, both triangles and all values of op.
TEST_F(SubstitutesTest, GemmtIsATriangleOfGemm) {
  auto random = test::fresh_random();
  const auto only_gemm = [this](const char* name) -> void* {
    return std::strcmp(name, "zgemm_") == 0 ? symbol(name) : nullptr;
  };
  for (const char* name : {"zgemmt", "zgemmtr"}) {
    const auto routine = substitute(*routines::find(name), only_gemm);
    ASSERT_TRUE(routine);
    for (const std::int64_t n : {0, 1, 5, 256, 300, 515}) {
      const std::int64_t k = test::uniform<std::int64_t>(random, 0, 40);
      const char uplo = "UL"[test::uniform(random, 0, 1)];
      const char transa = "NTC"[test::uniform(random, 0, 2)];
      const char transb = "NTC"[test::uniform(random, 0, 2)];
      Matrix a(transa == 'N' ? n : k, transa == 'N' ? k : n, random);
      Matrix b(transb == 'N' ? k : n, transb == 'N' ? n : k, random);
      Matrix c(n, n, random);
      Matrix whole = c;
      Argument t[kMaxArguments];
      Argument g[kMaxArguments];
      t[0].flag = uplo;
      t[1].flag = g[0].flag = transa;
      t[2].flag = g[1].flag = transb;
      t[3].dim = g[2].dim = g[3].dim = n;
      t[4].dim = g[4].dim = k;
      t[5].scalar = g[5].scalar = {0.5, -2};
      t[6].host = g[6].host = a.operand();
      t[7].host = g[7].host = b.operand();
      t[8].scalar = g[8].scalar = {n % 2 == 0 ? 0.0 : 1.5, 0};
      t[9].host = c.operand();
      g[9].host = whole.operand();
      const std::vector<Value> before = c.values;
      ASSERT_TRUE(routine->thunk(routine->function, t));
      ASSERT_TRUE(thunks()[index_of("zgemm")].thunk(symbol("zgemm_"), g));
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i < c.ld; ++i) {
          const auto at = static_cast<std::size_t>(i + j * c.ld);
          const bool inside = i < n && (uplo == 'U' ? i <= j : i >= j);
          if (!inside) {
            ASSERT_EQ(c.values[at], before[at]) << n << uplo << ' ' << i << ',' << j;
          } else {  // Higham, Accuracy and Stability, (3.13): k products and sums of size <= 5
            ASSERT_LE(std::abs(c.values[at] - whole.values[at]),
                      static_cast<double>(k + 2) * 20 * 2.3e-16)
                << n << uplo << transa << transb << ' ' << i << ',' << j;
          }
        }
      }
    }
  }
}

TEST_F(SubstitutesTest, TheOtherNameOfGemmtIsPreferred) {
  int dummy = 0;
  const auto has_gemmt = [&dummy](const char* name) -> void* {
    return std::strcmp(name, "dgemmt_") == 0 || std::strcmp(name, "dgemm_") == 0 ? &dummy : nullptr;
  };
  const auto routine = substitute(*routines::find("dgemmtr"), has_gemmt);
  ASSERT_TRUE(routine);
  EXPECT_EQ(routine->thunk, thunks()[index_of("dgemmt")].thunk);
}

TEST_F(SubstitutesTest, Gemm3mIsGemm) {
  const auto routine =
      substitute(*routines::find("cgemm3m"), [this](const char* n) { return symbol(n); });
  ASSERT_TRUE(routine);
  EXPECT_EQ(routine->thunk, thunks()[index_of("cgemm")].thunk);
  EXPECT_EQ(routine->function, symbol("cgemm_"));
}

TEST_F(SubstitutesTest, NothingElseHasOne) {
  const auto anything = [](const char*) -> void* { return reinterpret_cast<void*>(1); };
  EXPECT_FALSE(substitute(*routines::find("dsyrk"), anything));
  EXPECT_FALSE(substitute(*routines::find("dgemmt"), [](const char*) -> void* { return nullptr; }));
}

}  // namespace
}  // namespace ob::cpu
