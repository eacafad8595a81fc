#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "apps/host_lapack.hpp"
#include "sial/builtins/calls.hpp"
#include "support/random.hpp"

namespace ob::sial::test {
namespace {

using ob::test::fresh_random;

class Diis : public ::testing::Test {
 protected:
  void SetUp() override {
    auto lapack = apps::open_host_lapack(1);
    if (!lapack.ok()) GTEST_SKIP() << lapack.status().message();
    functions_ = builtin_functions(lapack.value());
  }
  SuperFunctions functions_;
};

// The fixed-point iteration x := x + (b - A x) of a linear system. Extrapolation over all steps is
// exact after as many steps as the system has unknowns, and one more.
TEST_F(Diis, SolvesALinearSystem) {
  auto random = fresh_random();
  Operand a({4, 4}), b({4}), x({4}), error({4}), history({2 + 2 * 4 * 6});
  a.draw(random);
  for (std::int64_t i = 0; i < 4; ++i) a(i, i) += 4;
  b.draw(random);
  x.for_each([](double& element) { element = 0; });
  history.for_each([](double& element) { element = 0; });
  double largest = 1;
  for (int step = 0; step < 12 && largest > 1e-12; ++step) {
    largest = 0;
    for (std::int64_t i = 0; i < 4; ++i) {
      double residual = b(i);
      for (std::int64_t j = 0; j < 4; ++j) residual -= a(i, j) * x(j);
      error(i) = residual;
      largest = std::max(largest, std::fabs(residual));
    }
    ASSERT_TRUE(
        call(functions_, "diis", {x.argument(), error.argument(), history.argument()}).ok());
    for (std::int64_t i = 0; i < 4; ++i) x(i) += error(i);
  }
  EXPECT_LE(largest, 1e-12);
  EXPECT_TRUE(x.gaps_intact() && history.gaps_intact());
}

TEST_F(Diis, TheFirstVectorStaysAsItIs) {
  auto random = fresh_random();
  Operand x({2, 3}), error({2, 3}), history({40});
  x.draw(random);
  error.draw(random);
  history.for_each([](double& element) { element = 0; });
  const auto before = x.memory;
  ASSERT_TRUE(call(functions_, "diis", {x.argument(), error.argument(), history.argument()}).ok());
  EXPECT_EQ(x.memory, before);
  EXPECT_EQ(history(0), 1);
}

TEST_F(Diis, RejectsWhatIsNoHistory) {
  Operand x({2, 3}), error({2, 3}), small({13}), garbage({40});
  x.for_each([](double& element) { element = 1; });
  error.for_each([](double& element) { element = 1; });
  small.for_each([](double& element) { element = 0; });
  garbage.for_each([](double& element) { element = 0.5; });
  EXPECT_EQ(call(functions_, "diis", {x.argument(), error.argument(), small.argument()}).code(),
            Code::invalid_argument);
  EXPECT_EQ(call(functions_, "diis", {x.argument(), error.argument(), garbage.argument()}).code(),
            Code::invalid_argument);
}

}  // namespace
}  // namespace ob::sial::test
