// Sizes of regions: exact where they fit, saturated where they do not, never too small by overflow.

#include <gtest/gtest.h>

#include <algorithm>

#include "base/layout.hpp"
#include "support/random.hpp"

namespace ob {
namespace {

using Wide = unsigned __int128;
constexpr std::uint64_t kMax = UINT64_MAX;

std::uint64_t naive_elements(const Region& r) {
  std::uint64_t count = 0;
  for (std::uint64_t j = 0; j < r.cols; ++j) {
    for (std::uint64_t i = 0; i < r.rows; ++i) {
      const bool is[] = {true, i <= j, i >= j, i<j, i> j};
      count += is[static_cast<int>(r.triangle)] ? 1 : 0;
    }
  }
  return count;
}

TEST(Region, PackedBytesCountTheReferencedElements) {
  for (int triangle = 0; triangle < 5; ++triangle) {
    for (std::uint64_t rows = 0; rows < 9; ++rows) {
      for (std::uint64_t cols = 0; cols < 9; ++cols) {
        const Region r{0, 8, static_cast<Triangle>(triangle), rows, cols, rows + 1};
        EXPECT_EQ(packed_bytes(r), 8 * naive_elements(r))
            << rows << " x " << cols << " triangle " << triangle;
      }
    }
  }
}

TEST(Region, ExtentEndsWithTheLastElement) {
  EXPECT_EQ(extent_bytes({100, 8, Triangle::full, 3, 4, 10}), 8u * (3 * 10 + 3));
  EXPECT_EQ(extent_bytes({100, 8, Triangle::full, 3, 1, 0}), 24u);
  EXPECT_EQ(extent_bytes({100, 8, Triangle::full, 0, 4, 10}), 0u);
  EXPECT_EQ(extent_bytes({100, 8, Triangle::full, 3, 0, 10}), 0u);
  EXPECT_EQ(extent_bytes({0, 16, Triangle::upper, 3, 3, 3}), 144u);
}

TEST(Region, HugeSizesSaturate) {
  const std::uint64_t two32 = std::uint64_t{1} << 32;
  // 2^64: 0 if it wrapped
  EXPECT_EQ(packed_bytes({0, 1, Triangle::full, two32, two32, two32}), kMax);
  // only the number of bytes wraps
  EXPECT_EQ(packed_bytes({0, 8, Triangle::full, two32, two32 / 8, two32}), kMax);
  EXPECT_EQ(packed_bytes({0, 16, Triangle::upper, two32, two32 - 1, two32}), kMax);
  EXPECT_EQ(packed_bytes({0, 1, Triangle::upper, two32, two32 - 1, two32}),
            (two32 - 1) / 2 * two32 + two32 / 2);
  EXPECT_EQ(packed_bytes({0, 1, Triangle::full, kMax, 1, kMax}), kMax);
  EXPECT_EQ(extent_bytes({0, 8, Triangle::full, 1, kMax, kMax}), kMax);
  EXPECT_EQ(extent_bytes({0, 8, Triangle::full, kMax, 1, 1}), kMax);
  EXPECT_EQ(extent_bytes({0, 1, Triangle::full, 5, two32 + 1, two32}), kMax);
}

// Random shapes near the limits, compared with 128-bit arithmetic.
TEST(Region, SizesAndFitsAgreeWithWideArithmetic) {
  auto random = test::fresh_random();
  const auto any = [&] { return random() >> (random() % 64); };
  int fitting = 0;
  for (int round = 0; round < 200000; ++round) {
    Region r{any(), static_cast<std::uint32_t>(any() % 5000), Triangle::full, any(), any(), any()};
    if (random() % 2) r.ld = std::max(r.ld, r.rows);
    const Wide rows = r.rows, cols = r.cols, ld = r.ld, element = r.element_bytes;
    // ld * cols needs 128 bits. The product with element_bytes may not fit in these, so the test
    // divides instead.
    const bool empty = rows == 0 || cols == 0;
    const Wide elements = empty ? 0 : ld * (cols - 1) + rows;
    const bool small = element == 0 || elements <= kMax / element;
    const std::uint64_t extent = small ? static_cast<std::uint64_t>(elements * element) : kMax;
    EXPECT_EQ(extent_bytes(r), extent);
    const bool packs = element == 0 ? rows * cols <= kMax : rows * cols <= kMax / element;
    if (packs) {
      EXPECT_EQ(packed_bytes(r), static_cast<std::uint64_t>(rows * cols * element));
    } else if (element != 0) {
      EXPECT_EQ(packed_bytes(r), kMax);
    }
    const std::uint64_t buffer_bytes = any();
    const bool sane = element >= 1 && element <= 4096 && (cols <= 1 || (ld >= rows && ld >= 1));
    const bool inside = small && Wide(r.offset_bytes) + extent <= buffer_bytes &&
                        Wide(r.offset_bytes) + extent < kMax;
    EXPECT_EQ(fits(r, buffer_bytes), sane && inside);
    fitting += fits(r, buffer_bytes) ? 1 : 0;
  }
  EXPECT_GT(fitting, 100);  // otherwise the test covers little
}

TEST(Region, FitsToTheByte) {
  const Region r{16, 8, Triangle::full, 3, 4, 10};
  EXPECT_TRUE(fits(r, 16 + 8 * 33));
  EXPECT_FALSE(fits(r, 16 + 8 * 33 - 1));
  const Region nothing{16, 8, Triangle::full, 0, 4, 1};
  EXPECT_TRUE(fits(nothing, 16));
  EXPECT_FALSE(fits(nothing, 15));
}

TEST(Region, SenselessRegionsFitNowhere) {
  EXPECT_FALSE(fits({0, 0, Triangle::full, 1, 1, 1}, kMax));
  EXPECT_FALSE(fits({0, 4097, Triangle::full, 1, 1, 1}, kMax));
  EXPECT_FALSE(fits({0, 8, static_cast<Triangle>(5), 1, 1, 1}, kMax));
  EXPECT_FALSE(fits({0, 8, Triangle::full, 4, 2, 3}, kMax));
  EXPECT_FALSE(fits({0, 8, Triangle::full, 0, 2, 0}, kMax));
  EXPECT_TRUE(fits({0, 8, Triangle::full, 4, 1, 0}, kMax));  // a vector has no ld
  EXPECT_FALSE(fits({kMax, 1, Triangle::full, 1, 1, 1}, kMax));
  EXPECT_FALSE(fits({kMax - 7, 8, Triangle::full, 1, 1, 1}, kMax));
}

}  // namespace
}  // namespace ob
