// Overlap of regions, compared with a map of all bytes.

#include "base/overlap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support/random.hpp"

namespace ob {
namespace {

std::vector<bool> bytes_of(const Region& r) {
  std::vector<bool> used(1536);
  for (std::uint64_t j = 0; j < r.cols; ++j) {
    for (std::uint64_t i = 0; i < r.rows * r.element_bytes; ++i) {
      used.at(r.offset_bytes + j * r.ld * r.element_bytes + i) = true;
    }
  }
  return used;
}

bool share_a_byte(const Region& a, const Region& b) {
  const std::vector<bool> x = bytes_of(a);
  const std::vector<bool> y = bytes_of(b);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] && y[i]) return true;
  }
  return false;
}

Region matrix(std::uint64_t offset_bytes, std::uint64_t rows, std::uint64_t cols,
              std::uint64_t ld) {
  return {offset_bytes, 8, Triangle::full, rows, cols, ld};
}

TEST(Overlap, BlocksOfOneArrayInterleave) {
  // A 4 x 4 array of doubles, cut after row 1 and column 1.
  const Region a11 = matrix(0, 2, 2, 4);
  const Region a21 = matrix(16, 2, 2, 4);
  const Region a12 = matrix(64, 2, 2, 4);
  EXPECT_FALSE(overlap(a11, a21));
  EXPECT_FALSE(overlap(a11, a12));
  EXPECT_FALSE(overlap(a21, a12));
  EXPECT_TRUE(overlap(a11, matrix(8, 2, 2, 4)));
  EXPECT_TRUE(overlap(a21, matrix(24, 2, 2, 4)));
  EXPECT_TRUE(overlap(a11, a11));
}

TEST(Overlap, RowsAndColumnsOfOneArrayDoNotOverlapUnlessTheyCross) {
  const Region row = matrix(8, 1, 4, 4);
  const Region column = matrix(32, 4, 1, 4);
  EXPECT_TRUE(overlap(row, column));
  EXPECT_FALSE(overlap(row, matrix(48, 2, 1, 2)));
  EXPECT_FALSE(overlap(row, matrix(16, 1, 4, 4)));
  EXPECT_FALSE(overlap(matrix(0, 1, 4, 5), matrix(8, 3, 1, 3)));  // diagonal, column below it
}

TEST(Overlap, RegionsWithoutElementsOverlapNothing) {
  EXPECT_FALSE(overlap(matrix(0, 0, 4, 4), matrix(0, 4, 4, 4)));
  EXPECT_FALSE(overlap(matrix(0, 4, 4, 4), matrix(8, 4, 0, 4)));
}

TEST(Overlap, TrianglesCountAsWholeMatrices) {
  Region upper = matrix(0, 4, 4, 4);
  upper.triangle = Triangle::upper;
  EXPECT_TRUE(overlap(upper, matrix(24, 1, 1, 1)));
}

TEST(Overlap, LargeRegionsAreExactWithEqualPitchAndBoundedWithout) {
  constexpr std::uint64_t kLd = 100000;
  EXPECT_FALSE(overlap(matrix(0, 50000, kLd, kLd), matrix(400000, 50000, kLd, kLd)));
  EXPECT_TRUE(overlap(matrix(0, 50001, kLd, kLd), matrix(400000, 50000, kLd, kLd)));
  // Even and odd words, of unequal distances and too many columns to compare.
  EXPECT_TRUE(overlap(matrix(0, 1, 1 << 30, 2), matrix(8, 1, 1 << 28, 4)));
}

TEST(Overlap, AgreesWithTheMapOfAllBytes) {
  auto random = test::fresh_random();
  const auto draw = [&] {
    constexpr std::uint32_t kSizes[] = {1, 4, 8, 16};
    Region r;
    r.element_bytes = kSizes[test::uniform(random, 0, 3)];
    r.offset_bytes = test::uniform<std::uint64_t>(random, 0, 200);
    r.rows = test::uniform<std::uint64_t>(random, 0, 5);
    r.cols = test::uniform<std::uint64_t>(random, 0, 5);
    r.ld = std::max<std::uint64_t>(1, r.rows) + test::uniform<std::uint64_t>(random, 0, 8);
    return r;
  };
  int overlapping = 0;
  for (int round = 0; round < 10000; ++round) {
    const Region a = draw();
    Region b = draw();
    if (test::uniform(random, 0, 1) == 0) {  // blocks of one array
      b.element_bytes = a.element_bytes;
      b.ld = std::max(b.ld, a.ld);
    }
    const bool expected = share_a_byte(a, b);
    overlapping += expected ? 1 : 0;
    ASSERT_EQ(overlap(a, b), expected)
        << a.offset_bytes << " + " << a.rows << " x " << a.cols << " ld " << a.ld << " of "
        << a.element_bytes << " and " << b.offset_bytes << " + " << b.rows << " x " << b.cols
        << " ld " << b.ld << " of " << b.element_bytes;
  }
  EXPECT_GT(overlapping, 500);
}

}  // namespace
}  // namespace ob
