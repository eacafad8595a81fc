// A failed check stops a debug build with a clear message. It costs nothing in other builds.

#include "base/contract.hpp"

#include <gtest/gtest.h>

#include <array>
#include <type_traits>

#include "base/chunks.hpp"
#include "base/link.hpp"
#include "base/status.hpp"

namespace ob {
namespace {

/// @pre divisor != 0
constexpr int divided(int value, int divisor) {
  OB_EXPECT(divisor != 0);
  return value / divisor;
}

static_assert(divided(6, 3) == 2);  // a check that holds may be part of a constant

TEST(ContractTest, ChecksThatHoldDoNothing) {
  OB_EXPECT(true);
  OB_ASSERT(1 + 1 == 2);
  OB_ENSURE(std::is_same_v<int, int>);  // the comma belongs to a template
  SUCCEED();
}

#ifdef NDEBUG

TEST(ContractTest, ReleaseBuildsDoNotEvaluateTheExpression) {
  int evaluated = 0;
  const auto fails = [&] { return ++evaluated < 0; };
  OB_EXPECT(fails());
  OB_ASSERT(fails());
  OB_ENSURE(fails());
  EXPECT_EQ(evaluated, 0);
}

#else

TEST(ContractTest, ChecksEvaluateTheExpressionOnce) {
  int evaluated = 0;
  OB_EXPECT(++evaluated > 0);
  EXPECT_EQ(evaluated, 1);
}

TEST(ContractDeathTest, FailuresNameTheCheckThePlaceAndTheExpression) {
  EXPECT_DEATH(OB_EXPECT(1 > 2), "contract_test.cpp:[0-9]+: OB_EXPECT failed: 1 > 2");
  EXPECT_DEATH(OB_ASSERT(false), "contract_test.cpp:[0-9]+: OB_ASSERT failed: false");
  EXPECT_DEATH(OB_ENSURE(divided(1, 1) == 2), "OB_ENSURE failed: divided\\(1, 1\\) == 2");
}

TEST(ContractDeathTest, PreconditionsStopTheCall) {
  EXPECT_DEATH(divided(1, 0), "OB_EXPECT failed: divisor != 0");
}

TEST(ContractDeathTest, ResultsWithoutValueHaveNone) {
  const Result<int> failed(Status(Code::busy, "later"));
  EXPECT_DEATH(static_cast<void>(failed.value()), "OB_EXPECT failed: ok\\(\\)");
  EXPECT_DEATH(Result<int>(Status{}), "OB_EXPECT failed: !status.ok\\(\\)");
}

TEST(ContractDeathTest, ChunksBeyondTheLastAreRefused) {
  const Chunks chunks({.rows = 8, .cols = 1, .ld = 8}, 4);
  EXPECT_DEATH(static_cast<void>(chunks.at(chunks.count())), "OB_EXPECT failed: index < count");
}

TEST(ContractDeathTest, LayoutsHaveSoManyDimensionsAndPieces) {
  std::array<std::byte, 4> memory{};
  const std::array<Layout::Dimension, Layout::kMaxDimensions + 1> many{};
  EXPECT_DEATH(Layout::strided(memory.data(), 1, many), "OB_EXPECT failed: dimensions.size");
  const Layout four = Layout::bytes(memory.data(), 4);
  Layout::Cursor cursor(four);
  EXPECT_DEATH(cursor.advance(5), "OB_EXPECT failed: count_bytes <= piece\\(\\).size\\(\\)");
  EXPECT_DEATH(copy(four, Layout::bytes(memory.data(), 3)), "OB_EXPECT failed");
}

TEST(ContractDeathTest, UnknownLinksTakeNoTime) {
  EXPECT_DEATH(static_cast<void>(Link().seconds_to(1)), "OB_EXPECT failed: known\\(\\)");
  EXPECT_DEATH(static_cast<void>(Link().seconds_from(1)), "OB_EXPECT failed: known\\(\\)");
  EXPECT_DEATH(static_cast<void>(TransferTimes().seconds(1)), "OB_EXPECT failed: known\\(\\)");
}

#endif

}  // namespace
}  // namespace ob
