#include "overlap/region.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "support/random.hpp"

namespace ob::overlap {
namespace {

struct Array {
  std::vector<std::byte> bytes;
  FieldView view;
};

/// Returns an array with padding, whose dimensions lie in memory in a random order.
Array random_array(std::mt19937_64& random) {
  Array array;
  array.view.dims = kDims;
  array.view.element_bytes = test::uniform<std::int64_t>(random, 1, 9);
  std::array<int, kDims> order{0, 1, 2, 3};
  std::shuffle(order.begin(), order.end(), random);
  std::int64_t step = array.view.element_bytes;
  for (const int d : order) {
    array.view.extents[d] = test::uniform<std::int64_t>(random, 1, 4);
    array.view.strides[d] = step;
    step *= array.view.extents[d] + test::uniform<std::int64_t>(random, 0, 1);
  }
  array.bytes.resize(std::size_t(step));
  array.view.data = array.bytes.data();
  return array;
}

Box random_part(std::mt19937_64& random, const Index& extents) {
  Box box;
  for (int d = 0; d < kDims; ++d) {
    box.low[d] = test::uniform<std::int64_t>(random, 0, extents[d] - 1);
    box.high[d] = test::uniform<std::int64_t>(random, box.low[d] + 1, extents[d]);
  }
  return box;
}

/// Calls `visit` for the first byte of each cell of `box`.
template <class Visit>
void for_each_cell(const FieldView& view, const Box& box, Visit&& visit) {
  Index i{};
  for (i[0] = box.low[0]; i[0] < box.high[0]; ++i[0])
    for (i[1] = box.low[1]; i[1] < box.high[1]; ++i[1])
      for (i[2] = box.low[2]; i[2] < box.high[2]; ++i[2])
        for (i[3] = box.low[3]; i[3] < box.high[3]; ++i[3])
          visit(std::inner_product(i.begin(), i.end(), view.strides.begin(), std::int64_t{0}));
}

TEST(Region, UnpackWritesWhatPackReadAndNothingElse) {
  auto random = test::fresh_random();
  for (int round = 0; round < 500; ++round) {
    Array array = random_array(random);
    for (std::byte& b : array.bytes) b = std::byte(random());
    const Box box = random_part(random, array.view.extents);
    const Region region(array.view, box);
    std::vector<std::byte> packed(region.bytes() + 1, std::byte{0x5a});
    region.pack(packed.data());
    EXPECT_EQ(packed.back(), std::byte{0x5a});

    std::vector<std::byte> expected(array.bytes.size(), std::byte{0xee});
    for_each_cell(array.view, box, [&](std::int64_t at) {
      std::copy_n(array.bytes.begin() + at, array.view.element_bytes, expected.begin() + at);
    });
    std::fill(array.bytes.begin(), array.bytes.end(), std::byte{0xee});
    region.unpack(packed.data());
    EXPECT_EQ(array.bytes, expected);
  }
}

TEST(Region, KnowsAdjacentCells) {
  std::array<double, 60> cells{};
  const FieldView view{
      reinterpret_cast<std::byte*>(cells.data()), 8, 3, {3, 4, 5, 1}, {160, 40, 8, 0}};
  EXPECT_TRUE(Region(view, {{1, 0, 0, 0}, {3, 4, 5, 1}}).contiguous());
  EXPECT_TRUE(Region(view, {{1, 1, 0, 0}, {2, 3, 5, 1}}).contiguous());
  EXPECT_FALSE(Region(view, {{1, 1, 0, 0}, {3, 3, 5, 1}}).contiguous());
  EXPECT_FALSE(Region(view, {{0, 0, 0, 0}, {3, 4, 1, 1}}).contiguous());
}

TEST(Region, SignatureTellsLayoutsApart) {
  std::array<std::byte, 512> memory{};
  const FieldView c{memory.data(), 8, 2, {4, 4, 1, 1}, {32, 8, 0, 0}};
  const FieldView fortran{memory.data(), 8, 2, {4, 4, 1, 1}, {8, 32, 0, 0}};
  const FieldView wide{memory.data(), 8, 2, {4, 6, 1, 1}, {48, 8, 0, 0}};
  const FieldView small{memory.data(), 4, 2, {4, 4, 1, 1}, {16, 4, 0, 0}};
  const Box box{{1, 1, 0, 0}, {3, 4, 1, 1}};
  EXPECT_EQ(Region(c, box).signature(), Region(wide, box).signature());
  EXPECT_NE(Region(c, box).signature(), Region(fortran, box).signature());
  EXPECT_NE(Region(c, box).signature(), Region(small, box).signature());
  EXPECT_NE(Region(c, box).signature(), Region(c, {{1, 1, 0, 0}, {4, 3, 1, 1}}).signature());
}

}  // namespace
}  // namespace ob::overlap
