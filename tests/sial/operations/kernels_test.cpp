#include "sial/operations/kernels.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/random.hpp"

namespace ob::sial::test {
namespace {

using ob::test::fresh_random;
using ob::test::uniform;

// Values that are small integers have exact sums, in any order and with fused operations.
std::vector<double> draw_integers(std::mt19937_64& random, std::int64_t count) {
  std::vector<double> drawn(static_cast<std::size_t>(count));
  for (double& element : drawn) element = uniform(random, -9, 9);
  return drawn;
}

TEST(Kernels, ProductsOfBothInstructionSetsAgree) {
  auto random = fresh_random();
  for (int i = 0; i < 50; ++i) {
    const auto m = uniform<std::int64_t>(random, 1, 30);
    const auto n = uniform<std::int64_t>(random, 1, 12);
    const auto k = uniform<std::int64_t>(random, 1, 30);
    const auto a = draw_integers(random, m * k);
    const auto b = draw_integers(random, k * n);
    auto one = draw_integers(random, m * n);
    auto other = one;
    kernels().product(m, n, k, 2, a.data(), m, b.data(), n, 1, -1, one.data(), m);
    baseline_kernels().product(m, n, k, 2, a.data(), m, b.data(), n, 1, -1, other.data(), m);
    ASSERT_EQ(one, other);
  }
}

}  // namespace
}  // namespace ob::sial::test
