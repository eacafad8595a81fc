#include "device/permute/permute.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "support/permute_case.hpp"

namespace ob::test {
namespace {

// Runs a call on host memory.
void run(const PermuteCase& given, const std::vector<double>& a, std::vector<double>& b) {
  Argument arguments[kMaxArguments];
  given.set_values(arguments);
  arguments[PermuteCase::kA].host = {const_cast<double*>(a.data()), 0};  // it is only read
  arguments[PermuteCase::kB].host = {b.data(), 0};
  ASSERT_TRUE(given.routine().legal(arguments, nullptr));
  permute(arguments);
}

TEST(Permute, IsAColumnMajorCopyWithItsDimensionsInAnotherOrder) {
  PermuteCase given;
  given.extents = {2, 3, 1, 1, 1, 1, 1, 1};
  given.positions = {2, 1, 3, 4, 5, 6, 7, 8};
  std::vector<double> b(6, -1);
  run(given, {11, 21, 12, 22, 13, 23}, b);
  EXPECT_EQ(b, (std::vector<double>{11, 12, 13, 21, 22, 23}));
}

TEST(Permute, AgreesWithLoopsOverIndices) {
  auto random = fresh_random();
  for (int round = 0; round < 400 && !testing::Test::HasFailure(); ++round) {
    const PermuteCase given = PermuteCase::draw(random, round % 20 == 0 ? 60000 : 3000);
    auto a = given.draw_elements(random);
    auto b = given.draw_elements(random);
    // Operands that are not read hold NaN.
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    if (given.alpha == 0) std::ranges::fill(a, kNan);
    if (given.beta == 0) std::ranges::fill(b, kNan);
    const auto expected = given.expected(a, b);
    // Words around the result stay as they were.
    std::vector<double> padded(b.size() + 16, 1234.5);
    std::ranges::copy(b, padded.begin() + 8);
    Argument arguments[kMaxArguments];
    given.set_values(arguments);
    arguments[PermuteCase::kA].host = {a.data(), 0};
    arguments[PermuteCase::kB].host = {padded.data() + 8, 0};
    permute(arguments);
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_EQ(padded[i], 1234.5);
      EXPECT_EQ(padded[padded.size() - 1 - i], 1234.5);
    }
    ASSERT_EQ(std::vector<double>(padded.begin() + 8, padded.end() - 8), expected) << given.text();
  }
}

TEST(Permute, SetsTheCallFromTheOrdersOfABlock) {
  auto random = fresh_random();
  for (int round = 0; round < 200; ++round) {
    const unsigned rank = uniform<unsigned>(random, 0, kMaxAxes);
    Order extents{}, from{}, to{};
    for (unsigned d = 0; d < rank; ++d) extents[d] = uniform<std::int64_t>(random, 1, 4);
    const auto draw_order = [&](Order& strides) {
      std::array<unsigned, kMaxAxes> dimensions{};
      std::iota(dimensions.begin(), dimensions.end(), 0U);
      std::shuffle(dimensions.begin(), dimensions.begin() + rank, random);
      std::int64_t stride = 1;
      for (unsigned i = 0; i < rank; ++i) {
        strides[dimensions[i]] = stride;
        stride *= extents[dimensions[i]];
      }
      return stride;
    };
    const auto count = static_cast<std::size_t>(draw_order(from));
    draw_order(to);
    std::vector<double> a(count), b(count, -1), expected(count);
    std::iota(a.begin(), a.end(), 0.0);
    for (std::size_t at = 0; at < count; ++at) {  // an index in the order of the dimensions
      std::int64_t left = static_cast<std::int64_t>(at), in_a = 0, in_b = 0;
      for (unsigned d = 0; d < rank; ++d) {
        in_a += left % extents[d] * from[d];
        in_b += left % extents[d] * to[d];
        left /= extents[d];
      }
      expected[static_cast<std::size_t>(in_b)] = a[static_cast<std::size_t>(in_a)];
    }
    CallArguments call = permutation(rank, extents, from, to, {}, {});
    ASSERT_TRUE(PermuteCase::routine().legal(call.items, nullptr));
    call.items[PermuteCase::kA].host = {a.data(), 0};
    call.items[PermuteCase::kB].host = {b.data(), 0};
    permute(call.items);
    ASSERT_EQ(b, expected);
  }
}

TEST(Permute, PositionsThatAreNoPermutationAreIllegal) {
  Argument arguments[kMaxArguments];
  PermuteCase().set_values(arguments);
  const auto legal = [&] { return PermuteCase::routine().legal(arguments, nullptr); };
  ASSERT_TRUE(legal());
  for (const std::int64_t wrong : {0L, 2L, 9L, 64L, 65L, -1L, 3037000498L}) {
    arguments[PermuteCase::kPositions].dim = wrong;
    EXPECT_FALSE(legal()) << wrong;
  }
  arguments[PermuteCase::kPositions].dim = 1;
  arguments[PermuteCase::kExtents + 3].dim = -1;
  EXPECT_FALSE(legal());
}

TEST(Permute, ShapesBeyond64BitsNeverLookSmall) {
  Argument arguments[kMaxArguments];
  PermuteCase given;
  given.extents = {1 << 20, 1 << 20, 1 << 20, 1 << 4, 1, 1, 1, 1};  // 2^64 elements
  given.set_values(arguments);
  const Operands huge = PermuteCase::routine().operands(arguments);
  for (const Operand& operand : huge.span()) {
    EXPECT_EQ(operand.rows, std::uint64_t{INT64_MAX});
    EXPECT_EQ(operand.cols, 1U);
  }
  given.extents[7] = 0;
  given.set_values(arguments);
  const Operands none = PermuteCase::routine().operands(arguments);
  EXPECT_EQ(none.items[0].rows, 0U);
  permute(arguments);  // touches nothing: the operands are null
}

TEST(Permute, ArgumentsLieWhereTheRowSays) {
  const auto& names = PermuteCase::routine().argument_names;
  ASSERT_EQ(names.size(), 20U);
  EXPECT_EQ(names[PermuteCase::kExtents], "e1");
  EXPECT_EQ(names[PermuteCase::kPositions + 7], "p8");
  EXPECT_EQ(names[PermuteCase::kAlpha], "alpha");
  EXPECT_EQ(names[PermuteCase::kA], "a");
  EXPECT_EQ(names[PermuteCase::kBeta], "beta");
  EXPECT_EQ(names[PermuteCase::kB], "b");
}

}  // namespace
}  // namespace ob::test
