#include "overlap/box.hpp"

#include <gtest/gtest.h>

#include <map>

#include "support/random.hpp"

namespace ob::overlap {
namespace {

Box random_box(std::mt19937_64& random) {
  Box box;
  for (int d = 0; d < kDims; ++d) {
    box.low[d] = test::uniform<std::int64_t>(random, 0, 4);
    box.high[d] = test::uniform<std::int64_t>(random, 0, 5);
  }
  return box;
}

/// Counts for each cell of [0, 6)^4 how many of `boxes` have it.
std::map<Index, int> cells_of(const std::vector<Box>& boxes) {
  std::map<Index, int> count;
  for (const Box& box : boxes)
    for (std::int64_t a = box.low[0]; a < box.high[0]; ++a)
      for (std::int64_t b = box.low[1]; b < box.high[1]; ++b)
        for (std::int64_t c = box.low[2]; c < box.high[2]; ++c)
          for (std::int64_t d = box.low[3]; d < box.high[3]; ++d) ++count[{a, b, c, d}];
  return count;
}

TEST(Box, IntersectionAndDifferenceAreThoseOfTheirCells) {
  auto random = test::fresh_random();
  for (int round = 0; round < 500; ++round) {
    const Box box = random_box(random);
    const Box hole = random_box(random);
    const auto all = cells_of({box});
    const auto removed = cells_of({hole});
    std::map<Index, int> common, rest;
    for (const auto& [cell, one] : all) (removed.count(cell) ? common : rest)[cell] = one;

    EXPECT_EQ(cells_of({intersect(box, hole)}), common);
    EXPECT_EQ(cells_of(subtract(box, hole)), rest);  // each cell once: the pieces are disjoint
    EXPECT_EQ(box.cells(), std::int64_t(all.size()));
    EXPECT_EQ(box.empty(), all.empty());
    EXPECT_EQ(hole.contains(box), rest.empty());
  }
}

TEST(Box, NamesItsFirstDimensions) {
  EXPECT_EQ(to_string(Box{{0, 1, 2, 3}, {4, 9, 7, 8}}, 2), "[0:4, 1:9]");
}

}  // namespace
}  // namespace ob::overlap
