// Tests LU on several devices: the residual, the pivots, LAPACK's info, the untouched memory.

#include "algorithms/factor/lu.hpp"

#include "algorithms/factor/factor_cases.hpp"

namespace ob::test {
namespace {

using algorithms::LuFactorization;

constexpr std::int64_t kPoison = 0x5A5A5A5A5A5A5A5A;

struct Factors {
  std::int64_t info = 0;
  std::vector<std::int64_t> pivots{};
};

Factors factor(const GeneralCase& what, FactorMatrix& a) {
  const FactorMatrix given = a;
  const auto exchange = host_exchange(cpu_devices(what.distribution.devices()), what.block_bytes);
  LuFactorization lu(*exchange, {what.precision, what.m, what.n, a.operand()},
                     what.distribution.of(what.n));
  const Status status = lu.run();
  EXPECT_TRUE(status.ok()) << status.message();
  if (!status.ok()) return {.info = -1};
  EXPECT_EQ(a, given) << "before commit()";
  Factors factors;
  factors.pivots.assign(what.order() + 1, kPoison);
  factors.info = lu.complete();
  EXPECT_EQ(a, given) << "before commit()";
  std::copy_n(lu.pivots(), what.order(), factors.pivots.begin());
  lu.commit();
  EXPECT_EQ(factors.pivots.back(), kPoison);
  factors.pivots.pop_back();
  return factors;
}

void check(const GeneralCase& what, const FactorMatrix& given, const FactorMatrix& a,
           const Factors& factors) {
  Dense permuted(what.m, what.n);
  for (std::uint64_t j = 0; j < what.n; ++j) {
    for (std::uint64_t i = 0; i < what.m; ++i) permuted(i, j) = given.get(i, j);
  }
  for (std::uint64_t k = 0; k < what.order(); ++k) {
    const std::int64_t pivot = factors.pivots[k];
    ASSERT_GE(pivot, static_cast<std::int64_t>(k + 1));
    ASSERT_LE(pivot, static_cast<std::int64_t>(what.m));
    for (std::uint64_t j = 0; j < what.n; ++j) {
      std::swap(permuted(k, j), permuted(static_cast<std::uint64_t>(pivot - 1), j));
    }
    // the pivot has the largest |re| + |im|, so |l| <= sqrt(2)
    for (std::uint64_t i = k + 1; i < what.m; ++i) {
      ASSERT_LE(std::abs(a.get(i, k)), 1.4143 * (1 + 1e-3));
    }
  }
  // Higham, Theorem 9.3, with a larger growth factor than random matrices have
  const double bound =
      20.0 * static_cast<double>(what.m + what.n) * unit_of(what.precision) * one_norm(given);
  for (std::uint64_t j = 0; j < what.n; ++j) {
    for (std::uint64_t i = 0; i < what.m; ++i) {
      Value sum = 0;
      for (std::uint64_t k = 0; k <= std::min({i, j, what.order() - 1}); ++k) {
        sum += (i == k ? Value(1) : a.get(i, k)) * a.get(k, j);
      }
      ASSERT_LE(std::abs(sum - permuted(i, j)), bound) << i << ' ' << j;
    }
    for (std::uint64_t i = what.m; i < what.ld; ++i) ASSERT_TRUE(a.same_bytes(given, i, j));
  }
}

TEST(FactorLu, GivesFactorsAndExchanges) {
  auto random = fresh_random();
  for (int round = 0; round < 300; ++round) {
    const GeneralCase what = random_general_case(random);
    SCOPED_TRACE(what.text());
    FactorMatrix a(what.precision, what.m, what.n, what.ld);
    a.fill(random);
    const FactorMatrix given = a;
    const Factors factors = factor(what, a);
    ASSERT_EQ(factors.info, 0);
    check(what, given, a, factors);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(FactorLu, InfoNamesTheFirstColumnWithoutPivotAndTheRestIsFactoredAllTheSame) {
  auto random = fresh_random();
  for (int round = 0; round < 100; ++round) {
    const GeneralCase what = random_general_case(random);
    SCOPED_TRACE(what.text());
    FactorMatrix a(what.precision, what.m, what.n, what.ld);
    a.fill(random);
    const auto zero = uniform<std::uint64_t>(random, 0, what.order() - 1);
    for (std::uint64_t i = 0; i < what.m; ++i) {
      a.set(i, zero, 0);
      a.set(i, what.order() - 1, 0);  // a later zero is not reported
    }
    const FactorMatrix given = a;
    const Factors factors = factor(what, a);
    ASSERT_EQ(factors.info, static_cast<std::int64_t>(zero + 1));
    check(what, given, a, factors);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace ob::test
