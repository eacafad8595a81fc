#include "device/blocked_gemmt.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "support/random.hpp"

namespace ob {
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

Value element(HostOperand a, char trans, std::int64_t row, std::int64_t col) {
  const auto* values = static_cast<const Value*>(a.data);
  if (trans == 'N') return values[row + col * a.ld];
  const Value v = values[col + row * a.ld];
  return trans == 'C' ? std::conj(v) : v;
}

// Returns C(i, j) of the product.
Value sum(HostOperand a, char transa, HostOperand b, char transb, std::int64_t i, std::int64_t j,
          std::int64_t k) {
  Value total = 0;
  for (std::int64_t l = 0; l < k; ++l) total += element(a, transa, i, l) * element(b, transb, l, j);
  return total;
}

// Computes by the definitions, one element after another.
class NaiveSteps final : public GemmtSteps {
 public:
  explicit NaiveSteps(int fails_at = -1) : left_(fails_at) {}

  Result<std::byte*> scratch(std::uint64_t size_bytes) override {
    // Memory that was never written must not be read.
    const double nan = std::numeric_limits<double>::quiet_NaN();
    scratch_.assign(size_bytes / sizeof(Value), Value(nan, nan));
    return reinterpret_cast<std::byte*>(scratch_.data());
  }
  Status gemm(const Argument* g) override {
    if (left_-- == 0) return {Code::device_error, "this step was made to fail"};
    const Value alpha{g[5].scalar.re, g[5].scalar.im};
    const Value beta{g[8].scalar.re, g[8].scalar.im};
    auto* c = static_cast<Value*>(g[9].host.data);
    for (std::int64_t j = 0; j < g[3].dim; ++j) {
      for (std::int64_t i = 0; i < g[2].dim; ++i) {
        Value& value = c[i + j * g[9].host.ld];
        value =
            alpha * sum(g[6].host, g[0].flag, g[7].host, g[1].flag, i, j, g[4].dim) + beta * value;
      }
    }
    return {};
  }
  Status copy_triangle(char uplo, std::int64_t n, HostOperand from, HostOperand to) override {
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = uplo == 'U' ? 0 : j; i < (uplo == 'U' ? j + 1 : n); ++i)
        static_cast<Value*>(to.data)[i + j * to.ld] = element(from, 'N', i, j);
    }
    return {};
  }

 private:
  std::vector<Value> scratch_;
  int left_;
};

struct Problem {
  std::int64_t n, k;
  char uplo, transa, transb;
  Value alpha, beta;
  Matrix a, b, c;

  Problem(std::int64_t size, std::mt19937_64& random)
      : n(size),
        k(test::uniform<std::int64_t>(random, 0, 7)),
        uplo("UL"[test::uniform(random, 0, 1)]),
        transa("NTC"[test::uniform(random, 0, 2)]),
        transb("NTC"[test::uniform(random, 0, 2)]),
        alpha(0.5, 2),
        beta(-1, 0.25),
        a(transa == 'N' ? n : k, transa == 'N' ? k : n, random),
        b(transb == 'N' ? k : n, transb == 'N' ? n : k, random),
        c(n, n, random) {}

  Status run(GemmtSteps& steps, std::int64_t block) {
    Argument g[10];
    g[0].flag = uplo;
    g[1].flag = transa;
    g[2].flag = transb;
    g[3].dim = n;
    g[4].dim = k;
    g[5].scalar = {alpha.real(), alpha.imag()};
    g[6].host = a.operand();
    g[7].host = b.operand();
    g[8].scalar = {beta.real(), beta.imag()};
    g[9].host = c.operand();
    return run_blocked_gemmt(steps, Precision::z, g, block);
  }
};

TEST(BlockedGemmt, IsOneTriangleOfAProductAndLeavesTheOther) {
  auto random = test::fresh_random();
  for (const std::int64_t n : {1, 3, 4, 5, 8, 11}) {
    Problem problem(n, random);
    const std::vector<Value> before = problem.c.values;
    NaiveSteps steps;
    ASSERT_TRUE(problem.run(steps, 4).ok());
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < problem.c.ld; ++i) {
        const auto at = static_cast<std::size_t>(i + j * problem.c.ld);
        const bool inside = i < n && (problem.uplo == 'U' ? i <= j : i >= j);
        Value expected = before[at];
        if (inside) {
          expected = problem.alpha * sum(problem.a.operand(), problem.transa, problem.b.operand(),
                                         problem.transb, i, j, problem.k) +
                     problem.beta * before[at];
        }
        const double tolerance = inside ? 1e-13 : 0;
        ASSERT_LE(std::abs(problem.c.values[at] - expected), tolerance)
            << "n " << n << ", " << problem.uplo << problem.transa << problem.transb << " at " << i
            << ", " << j;
      }
    }
  }
}

TEST(BlockedGemmt, AStepThatFailsEndsIt) {
  auto random = test::fresh_random();
  for (int step = 0; step < 5; ++step) {  // three blocks, two products beside them
    Problem problem(11, random);
    NaiveSteps steps(step);
    EXPECT_EQ(problem.run(steps, 4).code(), Code::device_error) << step;
  }
  Problem problem(11, random);
  NaiveSteps steps(5);
  EXPECT_TRUE(problem.run(steps, 4).ok());
}

}  // namespace
}  // namespace ob
