#include <gtest/gtest.h>

#include "sial/builtins/calls.hpp"
#include "support/random.hpp"

namespace ob::sial::test {
namespace {

using ob::test::fresh_random;

const SuperFunctions kFunctions = builtin_functions();

TEST(ElementFunctions, FirstElementOfABlock) {
  auto random = fresh_random();
  Operand block({3, 2});
  block.draw(random);
  double first = 0;
  ASSERT_TRUE(call(kFunctions, "get_first_block_element", {block.argument(), number(first)}).ok());
  EXPECT_EQ(first, block(0, 0));
  Operand target({2, 2});
  ASSERT_TRUE(
      call(kFunctions, "get_first_block_element", {block.argument(), target.argument()}).ok());
  EXPECT_EQ(target(0, 0), block(0, 0));
  EXPECT_EQ(target.gaps(), 8);  // 9 places, one of them written
}

TEST(ElementFunctions, OnlyElementOfABlock) {
  Operand one({1, 1});
  one(0, 0) = 2.5;
  double value = 0;
  ASSERT_TRUE(call(kFunctions, "return_sval", {one.argument(), number(value)}).ok());
  EXPECT_EQ(value, 2.5);
  Operand more({1, 2});
  EXPECT_EQ(call(kFunctions, "return_sval", {more.argument(), number(value)}).code(),
            Code::invalid_argument);
  EXPECT_EQ(value, 2.5);
  EXPECT_EQ(call(kFunctions, "return_sval", {one.argument(), text("x")}).code(),
            Code::invalid_argument);
}

TEST(ElementFunctions, SwapExchangesBlocks) {
  auto random = fresh_random();
  Operand one({3, 4});
  Operand other({3, 4});
  one.draw(random);
  other.draw(random);
  const auto before_one = one.memory;
  const auto before_other = other.memory;
  ASSERT_TRUE(call(kFunctions, "swap_blocks", {one.argument(), other.argument()}).ok());
  EXPECT_EQ(one.memory, before_other);
  EXPECT_EQ(other.memory, before_one);
  Operand longer({3, 5});
  EXPECT_EQ(call(kFunctions, "swap_blocks", {one.argument(), longer.argument()}).code(),
            Code::invalid_argument);
}

TEST(ElementFunctions, MultiplyByElement) {
  auto random = fresh_random();
  Operand a({3, 2, 4});
  Operand b({3, 2, 4});
  Operand c({3, 2, 4});
  b.draw(random);
  c.draw(random);
  ASSERT_TRUE(
      call(kFunctions, "multiply_elements", {a.argument(), b.argument(), c.argument()}).ok());
  for (std::int64_t k = 0; k < 4; ++k) {
    for (std::int64_t j = 0; j < 2; ++j) {
      for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(a(i, j, k), b(i, j, k) * c(i, j, k));
    }
  }
  EXPECT_TRUE(a.gaps_intact());
}

TEST(ElementFunctions, GapsUseGlobalNumbers) {
  auto random = fresh_random();
  Operand x({2, 3, 2, 2}, {3, 1, 5, 6});
  x.draw(random);
  const Operand before = x;
  Operand virtual1({6}), virtual2({6}), occupied1({4}, {4}), occupied2({9});
  for (Operand* energies : {&virtual1, &virtual2}) energies->draw(random);
  for (Operand* energies : {&occupied1, &occupied2}) {
    energies->draw(random);
    energies->for_each([](double& element) { element -= 5; });
  }
  ASSERT_TRUE(call(kFunctions, "divide_by_gaps",
                   {x.argument(), virtual1.argument(), virtual2.argument(), occupied1.argument(),
                    occupied2.argument()})
                  .ok());
  Operand old = before;
  for (std::int64_t l = 0; l < 2; ++l) {
    for (std::int64_t k = 0; k < 2; ++k) {
      for (std::int64_t j = 0; j < 3; ++j) {
        for (std::int64_t i = 0; i < 2; ++i) {
          const double gap = virtual1(2 + i) + virtual2(j) - occupied1(1 + k) - occupied2(5 + l);
          EXPECT_DOUBLE_EQ(x(i, j, k, l), old(i, j, k, l) / gap);
        }
      }
    }
  }
  EXPECT_TRUE(x.gaps_intact());
  // No energy belongs to the global numbers 9 and 10 of the last dimension.
  Operand outside({2, 3, 2, 2}, {3, 1, 5, 9});
  outside.draw(random);
  EXPECT_EQ(call(kFunctions, "divide_by_gaps",
                 {outside.argument(), virtual1.argument(), virtual2.argument(),
                  occupied1.argument(), occupied2.argument()})
                .code(),
            Code::invalid_argument);
}

TEST(ElementFunctions, TransposeOfAMatrix) {
  auto random = fresh_random();
  Operand from({5, 9});
  Operand to({9, 5});
  from.draw(random);
  ASSERT_TRUE(call(kFunctions, "transpose", {to.argument(), from.argument()}).ok());
  for (std::int64_t j = 0; j < 9; ++j) {
    for (std::int64_t i = 0; i < 5; ++i) EXPECT_EQ(to(j, i), from(i, j));
  }
  EXPECT_TRUE(to.gaps_intact());
  EXPECT_EQ(call(kFunctions, "transpose", {from.argument(), from.argument()}).code(),
            Code::invalid_argument);
}

}  // namespace
}  // namespace ob::sial::test
