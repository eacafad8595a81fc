// Compares roots of unity with libm in long double, with a reduction by hand.

#include "device/unit_roots.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "support/random.hpp"

namespace ob::test {
namespace {

// Uses the first quadrant by symmetry, so that the argument is as accurate as possible.
std::pair<long double, long double> exact(std::uint64_t k, std::uint64_t n) {
  const auto quadrant = static_cast<int>(4 * k / n);
  const std::uint64_t rest = 4 * k % n;  // the rest within a quarter turn of n
  const long double angle = std::numbers::pi_v<long double> / 2 * static_cast<long double>(rest) /
                            static_cast<long double>(n);
  const long double c = std::cos(angle);
  const long double s = std::sin(angle);
  switch (quadrant) {
    case 0: return {c, s};
    case 1: return {-s, c};
    case 2: return {-c, -s};
    default: return {s, -c};
  }
}

double error(Complex got, std::uint64_t k, std::uint64_t n, int sign) {
  const auto [c, s] = exact(k, n);
  return static_cast<double>(std::hypot(got.re - c, got.im - sign * s));
}

TEST(UnitRootsTest, OnesAreRoundedOnce) {
  auto random = fresh_random();
  for (int round = 0; round < 20000; ++round) {
    const auto n = uniform<std::uint64_t>(random, 1, std::uint64_t{1} << uniform(random, 1, 60));
    const auto k = uniform<std::uint64_t>(random, 0, n - 1);
    // half an ulp of numbers up to 1 for each part, plus the error of long double
    ASSERT_LE(error(unit_root(k, n), k, n, 1), 0x1p-54 * 1.4143 + 0x1p-60) << k << "/" << n;
  }
}

TEST(UnitRootsTest, ManyStayBelowTheirBound) {
  auto random = fresh_random();
  for (const std::uint64_t n :
       {1ULL, 2ULL, 3ULL, 8ULL, 1000ULL, 10007ULL, 1ULL << 20, 3ULL << 22}) {
    for (const int sign : {-1, 1}) {
      const UnitRoots roots(n, sign);
      for (int round = 0; round < 5000; ++round) {
        const auto k = uniform<std::uint64_t>(random, 0, n - 1);
        ASSERT_LT(error(roots(k), k, n, sign), 5 * 0x1p-53) << k << "/" << n;
      }
    }
  }
}

TEST(UnitRootsTest, QuartersAreExact) {
  for (const std::uint64_t n : {4ULL, 8ULL, 1ULL << 40}) {
    EXPECT_EQ(unit_root(0, n).re, 1);
    EXPECT_EQ(unit_root(n / 4, n).im, 1);
    EXPECT_EQ(unit_root(n / 4, n).re, 0);
    EXPECT_EQ(unit_root(n / 2, n).re, -1);
    EXPECT_EQ(unit_root(n / 4 * 3, n).im, -1);
  }
}

}  // namespace
}  // namespace ob::test
