#include "policy/size_table.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ob::policy {
namespace {

TEST(SizeTable, KnowsExactlyThePowersOfTwoThatItWasTold) {
  SizeTable table;
  EXPECT_EQ(table.in_bucket(1e6), 0);
  table.blend(1 << 20, 7, 1);
  EXPECT_EQ(table.in_bucket(1 << 20), 7);
  EXPECT_EQ(table.in_bucket((1 << 21) - 1), 7);
  EXPECT_EQ(table.in_bucket(1 << 21), 0);
  EXPECT_EQ(table.in_bucket((1 << 20) - 1), 0);
}

TEST(SizeTable, BlendsByWeight) {
  SizeTable table;
  table.blend(1e6, 8, 0.25);  // the first value counts whole
  EXPECT_EQ(table.in_bucket(1e6), 8);
  table.blend(1e6, 4, 0.25);
  EXPECT_EQ(table.in_bucket(1e6), 7);
  table.blend(1e6, 2, 1);
  EXPECT_EQ(table.in_bucket(1e6), 2);
}

TEST(SizeTable, IgnoresNonsense) {
  SizeTable table;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {0.0, -1.0, kNan}) {
    table.blend(bad, 1, 1);
    table.blend(1e6, bad, 1);
    EXPECT_EQ(table.in_bucket(bad), 0);
  }
  table.blend(1e6, std::numeric_limits<double>::infinity(), 1);
  EXPECT_EQ(table.in_bucket(1e6), 0);
  table.each([](double, double) { ADD_FAILURE(); });
}

}  // namespace
}  // namespace ob::policy
