#include "sial/job/layout.hpp"

#include <gtest/gtest.h>

#include "sial/job/binding.hpp"
#include "support/random.hpp"

namespace ob::sial {
namespace {

Program indices() {
  Program program;
  program.name = "p";
  program.ints = {{"first", true, 0}, {"last", true, 0}};
  program.indices = {
      {"i", IndexKind::segmented, "ao", kNone, {true, 0}, {true, 1}},
      {"ii", IndexKind::subindex, "", 0, {}, {}},
      {"s", IndexKind::simple, "", kNone, {false, -2}, {false, 3}},
      {"all", IndexKind::segmented, "ao", kNone, {false, 1}, {false, 4}},
  };
  return program;
}

Layout layout(const std::vector<std::int64_t>& extents, std::int64_t first, std::int64_t last,
              std::int64_t parts = 4) {
  Job job;
  job.segments["ao"] = extents;
  job.subsegments["ao"] = parts;
  job.ints = {{"first", first}, {"last", last}};
  auto bound = bind(indices(), job);
  EXPECT_TRUE(bound.ok()) << bound.status().message();
  return bound.ok() ? bound->layout : Layout();
}

TEST(Layout, ElementsCountAlongTheWholeAxis) {
  const Layout of = layout({8, 5, 3, 6}, 2, 3);
  EXPECT_EQ(of.range(0).lower, 2);
  EXPECT_EQ(of.range(0).upper, 3);
  EXPECT_TRUE(of.range(0).contains(3));
  EXPECT_FALSE(of.range(0).contains(4));
  EXPECT_EQ(of.segments(0), 4);
  EXPECT_EQ(of.extent(0, 2), 5);
  EXPECT_EQ(of.extent(0, 4), 6);  // outside of the range, on the axis
  EXPECT_EQ(of.first_element(0, 1), 1);
  EXPECT_EQ(of.first_element(0, 2), 9);
  EXPECT_EQ(of.first_element(0, 3), 14);
  EXPECT_EQ(of.first_element(3, 3), 14);
  EXPECT_EQ(of.offset_in_range(0, 3), 5);
  EXPECT_EQ(of.offset_in_range(3, 3), 13);
  EXPECT_EQ(of.elements(0), 8);
  EXPECT_EQ(of.elements(3), 22);
  EXPECT_EQ(of.largest_extent(0), 5);
}

TEST(Layout, SimpleIndicesHaveOneElementPerNumber) {
  const Layout of = layout({1, 1, 1, 1}, 1, 4);
  EXPECT_EQ(of.extent(2, -2), 1);
  EXPECT_EQ(of.first_element(2, -2), -2);
  EXPECT_EQ(of.offset_in_range(2, -2), 0);
  EXPECT_EQ(of.offset_in_range(2, 3), 5);
  EXPECT_EQ(of.elements(2), 6);
  EXPECT_EQ(of.range(2).count(), 6);
  EXPECT_EQ(of.largest_extent(2), 1);
}

TEST(Layout, FirstSubsegmentsAreLarger) {
  const Layout of = layout({10, 3, 8, 1}, 1, 4);
  EXPECT_EQ(of.subsegments(1, 1), 4);
  EXPECT_EQ(of.sub_extent(1, 1, 1), 3);
  EXPECT_EQ(of.sub_extent(1, 1, 2), 3);
  EXPECT_EQ(of.sub_extent(1, 1, 3), 2);
  EXPECT_EQ(of.sub_offset(1, 1, 3), 6);
  EXPECT_EQ(of.sub_offset(1, 1, 4), 8);
  EXPECT_EQ(of.subsegments(1, 2), 3);  // not more than elements
  EXPECT_EQ(of.subsegments(1, 4), 1);
  EXPECT_EQ(of.range(1).lower, 1);
  EXPECT_EQ(of.range(1).upper, 4);
  EXPECT_EQ(of.largest_extent(1), 3);
}

TEST(Layout, SubsegmentsCoverTheirSegment) {
  auto random = test::fresh_random();
  for (int round = 0; round < 200; ++round) {
    const auto extent = test::uniform(random, std::int64_t{1}, std::int64_t{40});
    const auto parts = test::uniform(random, std::int64_t{1}, std::int64_t{12});
    const Layout of = layout({extent, 1, 1, 1}, 1, 4, parts);
    std::int64_t next = 0, largest = 0, smallest = extent;
    for (std::int64_t number = 1; number <= of.subsegments(1, 1); ++number) {
      EXPECT_EQ(of.sub_offset(1, 1, number), next);
      const std::int64_t here = of.sub_extent(1, 1, number);
      next += here, largest = std::max(largest, here), smallest = std::min(smallest, here);
    }
    EXPECT_EQ(next, extent);
    EXPECT_LE(largest - smallest, 1);
    EXPECT_GE(smallest, 1);
  }
}

TEST(Layout, EmptyRanges) {
  for (const std::int64_t first : {1, 3, 5}) {
    const Layout of = layout({8, 5, 3, 6}, first, first - 1);
    EXPECT_EQ(of.range(0).count(), 0);
    EXPECT_EQ(of.elements(0), 0);
    EXPECT_EQ(of.largest_extent(0), 0);
    EXPECT_EQ(of.range(1).upper, 0);
    EXPECT_EQ(of.largest_extent(1), 0);
  }
}

}  // namespace
}  // namespace ob::sial
