#include <gtest/gtest.h>

#include <cmath>

#include "sial/builtins/calls.hpp"

namespace ob::sial::test {
namespace {

const SuperFunctions kFunctions = builtin_functions();

TEST(Fills, SequentialCountsInStorageOrder) {
  Operand block({2, 3});
  double start = 5;
  ASSERT_TRUE(call(kFunctions, "fill_block_sequential", {block.argument(), number(start)}).ok());
  EXPECT_EQ(block(0, 0), 5);
  EXPECT_EQ(block(1, 0), 6);
  EXPECT_EQ(block(0, 1), 7);
  EXPECT_EQ(block(1, 2), 10);
  EXPECT_TRUE(block.gaps_intact());
  EXPECT_EQ(start, 5);
}

TEST(Fills, CyclicBeginsAgainBehindTwenty) {
  Operand block({5, 5});
  std::int64_t start = 18;
  ASSERT_TRUE(call(kFunctions, "fill_block_cyclic", {block.argument(), number(start)}).ok());
  EXPECT_EQ(block(0, 0), 18);
  EXPECT_EQ(block(2, 0), 20);
  EXPECT_EQ(block(3, 0), 1);
  EXPECT_EQ(block(4, 0), 2);
  EXPECT_EQ(block(2, 4), 20);
  EXPECT_EQ(block(3, 4), 1);
  EXPECT_TRUE(block.gaps_intact());
}

TEST(Fills, RandomDependsOnGlobalNumbersOnly) {
  double seed = 42;
  double bound = 2;
  Operand whole({7, 9}, {1, 1});
  ASSERT_TRUE(
      call(kFunctions, "fill_random", {whole.argument(), number(seed), number(bound)}).ok());
  Operand part({3, 4}, {5, 2});
  ASSERT_TRUE(call(kFunctions, "fill_random", {part.argument(), number(seed), number(bound)}).ok());
  for (std::int64_t j = 0; j < 4; ++j) {
    for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(part(i, j), whole(i + 4, j + 1));
  }
  EXPECT_TRUE(whole.gaps_intact() && part.gaps_intact());
  seed = 43;
  Operand other({7, 9}, {1, 1});
  ASSERT_TRUE(
      call(kFunctions, "fill_random", {other.argument(), number(seed), number(bound)}).ok());
  EXPECT_NE(other(0, 0), whole(0, 0));
}

TEST(Fills, RandomFillsItsRangeEvenly) {
  double seed = 7;
  double bound = 3;
  Operand block({100, 100});
  ASSERT_TRUE(
      call(kFunctions, "fill_random", {block.argument(), number(seed), number(bound)}).ok());
  double sum = 0;
  double squares = 0;
  block.for_each([&](double element) {
    ASSERT_LE(std::fabs(element), 3);
    sum += element;
    squares += element * element;
  });
  // Mean 0 and variance bound^2 / 3; the deviations of 10,000 values are 0.017 and 0.027.
  EXPECT_NEAR(sum / 10000, 0, 0.1);
  EXPECT_NEAR(squares / 10000, 3, 0.15);
}

TEST(Fills, IdentityByGlobalNumbers) {
  Operand block({3, 4}, {5, 6});
  ASSERT_TRUE(call(kFunctions, "set_identity", {block.argument()}).ok());
  for (std::int64_t j = 0; j < 4; ++j) {
    for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(block(i, j), 5 + i == 6 + j ? 1 : 0);
  }
  EXPECT_TRUE(block.gaps_intact());
}

TEST(Fills, RejectArgumentsOfOtherKinds) {
  double value = 0;
  Operand block({2});
  EXPECT_EQ(call(kFunctions, "fill_block_sequential", {number(value), number(value)}).code(),
            Code::invalid_argument);
  EXPECT_EQ(call(kFunctions, "fill_block_sequential", {block.argument(), block.argument()}).code(),
            Code::invalid_argument);
  EXPECT_EQ(call(kFunctions, "fill_block_cyclic", {block.argument(), text("1")}).code(),
            Code::invalid_argument);
  EXPECT_EQ(call(kFunctions, "set_identity", {block.argument()}).code(), Code::invalid_argument);
  EXPECT_EQ(block.gaps(), 3);  // nothing changes
}

}  // namespace
}  // namespace ob::sial::test
