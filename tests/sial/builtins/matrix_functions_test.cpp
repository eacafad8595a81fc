// The identities that define each factorisation are the oracle.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "apps/host_lapack.hpp"
#include "sial/builtins/calls.hpp"
#include "support/random.hpp"

namespace ob::sial::test {
namespace {

using ob::test::fresh_random;
using ob::test::uniform;

// Backward errors of LAPACK are small multiples of n eps; 100 leaves room for conditions near 10.
double tolerance(std::int64_t n) {
  return 100 * static_cast<double>(n) * std::numeric_limits<double>::epsilon();
}

class MatrixFunctions : public ::testing::Test {
 protected:
  void SetUp() override {
    auto lapack = apps::open_host_lapack(1);
    if (!lapack.ok()) GTEST_SKIP() << lapack.status().message();
    functions_ = builtin_functions(lapack.value());
  }

  Operand square() {
    Operand drawn({n_, n_});
    drawn.draw(random_);
    return drawn;
  }
  Operand symmetric() {
    Operand drawn = square();
    for (std::int64_t j = 0; j < n_; ++j) {
      for (std::int64_t i = 0; i < j; ++i) drawn(i, j) = drawn(j, i);
    }
    return drawn;
  }
  // Diagonally dominant: all eigenvalues lie in [n, 3 n].
  Operand definite() {
    Operand drawn = symmetric();
    for (std::int64_t i = 0; i < n_; ++i) drawn(i, i) = 2.0 * static_cast<double>(n_);
    return drawn;
  }
  static double product(Operand& a, Operand& b, std::int64_t i, std::int64_t j) {
    double sum = 0;
    for (std::int64_t p = 0; p < a.view.extents[1]; ++p) sum += a(i, p) * b(p, j);
    return sum;
  }

  std::mt19937_64 random_ = fresh_random();
  std::int64_t n_ = uniform<std::int64_t>(random_, 1, 12);
  SuperFunctions functions_;
};

TEST_F(MatrixFunctions, EigenSymmetric) {
  Operand a = symmetric();
  Operand old = a;
  // Only the lower triangle is read.
  for (std::int64_t j = 0; j < n_; ++j) {
    for (std::int64_t i = 0; i < j; ++i) a(i, j) = 1e9;
  }
  Operand w({n_});
  ASSERT_TRUE(call(functions_, "eigen_symmetric", {a.argument(), w.argument()}).ok());
  for (std::int64_t j = 0; j < n_; ++j) {
    if (j > 0) {
      EXPECT_LE(w(j - 1), w(j));
    }
    double length = 0;
    for (std::int64_t i = 0; i < n_; ++i) {
      EXPECT_NEAR(product(old, a, i, j), w(j) * a(i, j), tolerance(n_) * n_);
      length += a(i, j) * a(i, j);
    }
    EXPECT_NEAR(length, 1, tolerance(n_));
  }
  EXPECT_TRUE(a.gaps_intact() && w.gaps_intact());
}

TEST_F(MatrixFunctions, EigenGeneralized) {
  Operand a = symmetric();
  Operand b = definite();
  Operand old_a = a;
  Operand old_b = b;
  Operand w({n_});
  ASSERT_TRUE(
      call(functions_, "eigen_generalized", {a.argument(), b.argument(), w.argument()}).ok());
  for (std::int64_t j = 0; j < n_; ++j) {
    double norm = 0;
    for (std::int64_t i = 0; i < n_; ++i) {
      const double metric = product(old_b, a, i, j);
      EXPECT_NEAR(product(old_a, a, i, j), w(j) * metric, tolerance(n_) * n_);
      norm += a(i, j) * metric;
    }
    EXPECT_NEAR(norm, 1, tolerance(n_));
  }
  // B returns its Cholesky factor.
  for (std::int64_t j = 0; j < n_; ++j) {
    for (std::int64_t i = 0; i < n_; ++i) {
      double sum = 0;
      for (std::int64_t p = 0; p < n_; ++p) sum += b(i, p) * b(j, p);
      EXPECT_NEAR(sum, old_b(i, j), tolerance(n_) * n_);
      if (i < j) {
        EXPECT_EQ(b(i, j), 0);
      }
    }
  }
}

TEST_F(MatrixFunctions, InverseSqrt) {
  Operand s = definite();
  Operand x({n_, n_});
  ASSERT_TRUE(call(functions_, "inverse_sqrt", {x.argument(), s.argument()}).ok());
  Operand middle({n_, n_});
  for (std::int64_t j = 0; j < n_; ++j) {
    for (std::int64_t i = 0; i < n_; ++i) middle(i, j) = product(s, x, i, j);
  }
  for (std::int64_t j = 0; j < n_; ++j) {
    for (std::int64_t i = 0; i < n_; ++i) {
      EXPECT_NEAR(product(x, middle, i, j), i == j ? 1 : 0, tolerance(n_));
      EXPECT_NEAR(x(i, j), x(j, i), tolerance(n_));
    }
  }
  EXPECT_TRUE(x.gaps_intact());
  s(0, 0) = -1;
  EXPECT_EQ(call(functions_, "inverse_sqrt", {x.argument(), s.argument()}).code(),
            Code::invalid_argument);
}

TEST_F(MatrixFunctions, Solve) {
  Operand a = definite();
  Operand b({n_, 3});
  b.draw(random_);
  Operand old_b = b;
  const auto old_a = a.memory;
  ASSERT_TRUE(call(functions_, "solve", {a.argument(), b.argument()}).ok());
  EXPECT_EQ(a.memory, old_a);
  for (std::int64_t j = 0; j < 3; ++j) {
    for (std::int64_t i = 0; i < n_; ++i) {
      EXPECT_NEAR(product(a, b, i, j), old_b(i, j), tolerance(n_));
    }
  }
  EXPECT_TRUE(b.gaps_intact());
}

TEST_F(MatrixFunctions, SolveReportsASingularMatrix) {
  Operand a({n_, n_});
  a.for_each([](double& element) { element = 0; });
  Operand b({n_});
  b.draw(random_);
  const auto before = b.memory;
  EXPECT_EQ(call(functions_, "solve", {a.argument(), b.argument()}).code(), Code::invalid_argument);
  EXPECT_EQ(b.memory, before);
}

TEST_F(MatrixFunctions, Cholesky) {
  Operand a = definite();
  Operand old = a;
  ASSERT_TRUE(call(functions_, "cholesky", {a.argument()}).ok());
  for (std::int64_t j = 0; j < n_; ++j) {
    for (std::int64_t i = 0; i < n_; ++i) {
      double sum = 0;
      for (std::int64_t p = 0; p < n_; ++p) sum += a(i, p) * a(j, p);
      EXPECT_NEAR(sum, old(i, j), tolerance(n_) * n_);
      if (i < j) {
        EXPECT_EQ(a(i, j), 0);
      }
    }
  }
  old(0, 0) = -1;
  const auto before = old.memory;
  EXPECT_EQ(call(functions_, "cholesky", {old.argument()}).code(), Code::invalid_argument);
  EXPECT_EQ(old.memory, before);
}

TEST_F(MatrixFunctions, Svd) {
  const std::int64_t m = uniform<std::int64_t>(random_, 1, 9);
  const std::int64_t k = std::min(m, n_);
  Operand a({m, n_});
  a.draw(random_);
  Operand old = a;
  Operand u({m, k}), s({k}), vt({k, n_});
  ASSERT_TRUE(
      call(functions_, "svd", {a.argument(), u.argument(), s.argument(), vt.argument()}).ok());
  for (std::int64_t j = 0; j < n_; ++j) {
    for (std::int64_t i = 0; i < m; ++i) {
      double sum = 0;
      for (std::int64_t p = 0; p < k; ++p) sum += u(i, p) * s(p) * vt(p, j);
      EXPECT_NEAR(sum, old(i, j), tolerance(m + n_));
    }
  }
  for (std::int64_t p = 0; p < k; ++p) {
    EXPECT_GE(s(p), p + 1 < k ? s(p + 1) : 0);
    double length = 0;
    for (std::int64_t i = 0; i < m; ++i) length += u(i, p) * u(i, p);
    EXPECT_NEAR(length, 1, tolerance(m + n_));
  }
  Operand wrong({m + 1, k});
  EXPECT_EQ(call(functions_, "svd", {old.argument(), wrong.argument(), s.argument(), vt.argument()})
                .code(),
            Code::invalid_argument);
}

TEST_F(MatrixFunctions, RejectShapes) {
  Operand tall({n_ + 1, n_});
  tall.draw(random_);
  Operand w({n_ + 1});
  EXPECT_EQ(call(functions_, "eigen_symmetric", {tall.argument(), w.argument()}).code(),
            Code::invalid_argument);
  EXPECT_EQ(call(functions_, "cholesky", {w.argument()}).code(), Code::invalid_argument);
  Operand a = square();
  EXPECT_EQ(call(functions_, "eigen_symmetric", {a.argument(), w.argument()}).code(),
            Code::invalid_argument);
}

TEST(MatrixFunctionsWithoutLibrary, SayThatThereIsNone) {
  Operand a({2, 2});
  EXPECT_EQ(call(builtin_functions(), "cholesky", {a.argument()}).code(), Code::unavailable);
}

}  // namespace
}  // namespace ob::sial::test
