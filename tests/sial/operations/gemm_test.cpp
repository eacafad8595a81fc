#include "sial/operations/gemm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/random.hpp"

namespace ob::sial::test {
namespace {

using ob::test::fresh_random;
using ob::test::uniform;

constexpr double kEps = std::numeric_limits<double>::epsilon();

std::vector<double> draw(std::mt19937_64& random, std::int64_t count) {
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<double> drawn(static_cast<std::size_t>(count));
  for (double& element : drawn) element = value(random);
  return drawn;
}

void run_random_product(std::mt19937_64& random) {
  const auto m = uniform<std::int64_t>(random, 1, 150);
  const auto n = uniform<std::int64_t>(random, 1, 20);
  const auto k = uniform<std::int64_t>(random, 1, 150);
  const bool trans_a = uniform(random, 0, 1) == 1;
  const bool trans_b = uniform(random, 0, 1) == 1;
  const std::int64_t lda = (trans_a ? k : m) + uniform<std::int64_t>(random, 0, 3);
  const std::int64_t ldb = (trans_b ? n : k) + uniform<std::int64_t>(random, 0, 3);
  const std::int64_t ldc = m + uniform<std::int64_t>(random, 0, 3);
  const auto a = draw(random, lda * (trans_a ? m : k));
  const auto b = draw(random, ldb * (trans_b ? k : n));
  auto c = draw(random, ldc * n);
  const double beta = uniform(random, -1, 1);
  const double alpha = uniform(random, 0, 1) == 1 ? 1 : -1;
  if (beta == 0) c.assign(c.size(), std::numeric_limits<double>::quiet_NaN());
  const auto old = c;
  LoopGemm().run(trans_a ? 'T' : 'N', trans_b ? 'T' : 'N', m, n, k, alpha, a.data(), lda, b.data(),
                 ldb, beta, c.data(), ldc);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < ldc; ++i) {
      const auto at = static_cast<std::size_t>(i + j * ldc);
      if (i >= m) {
        ASSERT_TRUE(c[at] == old[at] || (std::isnan(c[at]) && std::isnan(old[at])));
        continue;
      }
      long double sum = 0;
      for (std::int64_t p = 0; p < k; ++p) {
        const double x = a[static_cast<std::size_t>(trans_a ? p + i * lda : i + p * lda)];
        const double y = b[static_cast<std::size_t>(trans_b ? j + p * ldb : p + j * ldb)];
        sum += static_cast<long double>(x) * y;
      }
      const double want = static_cast<double>(
          alpha * sum + (beta == 0 ? 0.0L : static_cast<long double>(beta) * old[at]));
      ASSERT_NEAR(c[at], want, kEps * static_cast<double>((2 * k + 4) * (k + 1)));
    }
  }
}

TEST(LoopGemm, AgreesWithThreeLoops) {
  auto random = fresh_random();
  for (int i = 0; i < 60 && !HasFatalFailure(); ++i) run_random_product(random);
}

TEST(LoopGemm, CrossesItsBlocksOfColumns) {
  const std::vector<double> one{2};
  const std::vector<double> b(1100, 3);
  std::vector<double> c(1100, 1);
  LoopGemm().run('N', 'N', 1, 1100, 1, 1, one.data(), 1, b.data(), 1, 1, c.data(), 1);
  for (const double element : c) ASSERT_EQ(element, 7);
}

}  // namespace
}  // namespace ob::sial::test
