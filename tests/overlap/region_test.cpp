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

/// Returns a mask for arrays like `view`, dense or with regular gaps.
Array random_mask(std::mt19937_64& random, const FieldView& view) {
  Array mask;
  mask.view = view;
  mask.view.element_bytes = 1;
  std::int64_t step = 1;
  for (int d = 0; d < kDims; ++d) {
    mask.view.strides[d] = step;
    step *= view.extents[d];
  }
  const auto gap = test::uniform(random, 0, 3);
  for (std::int64_t i = 0; i < step; ++i)
    mask.bytes.push_back(std::byte(gap == 0 ? test::uniform(random, 0, 2) : i % gap == 0));
  mask.view.data = mask.bytes.data();
  return mask;
}

std::vector<std::int64_t> places(const FieldView& view, const Box& box) {
  std::vector<std::int64_t> found;
  for_each_cell(view, box, [&](std::int64_t at) { found.push_back(at); });
  return found;
}

TEST(Region, AMaskSelectsCells) {
  auto random = test::fresh_random();
  for (int round = 0; round < 500; ++round) {
    Array from = random_array(random);
    for (std::byte& b : from.bytes) b = std::byte(random());
    Array to = from;  // with more padding
    for (std::int64_t& stride : to.view.strides) stride *= 3;
    to.bytes.assign(3 * from.bytes.size(), std::byte{0xee});
    to.view.data = to.bytes.data();
    Array mask = random_mask(random, from.view);
    const Box box = random_part(random, from.view.extents);
    const Region source(from.view, box, &mask.view);
    const Region target(to.view, box, &mask.view);

    std::vector<std::byte> expected = to.bytes;
    const std::int64_t size = from.view.element_bytes;
    std::int64_t cells = 0;
    const auto reads = places(from.view, box), writes = places(to.view, box),
               marks = places(mask.view, box);
    for (std::size_t i = 0; i < marks.size(); ++i) {
      if (mask.bytes[std::size_t(marks[i])] == std::byte{0}) continue;
      std::copy_n(from.bytes.begin() + reads[i], size, expected.begin() + writes[i]);
      ++cells;
    }
    ASSERT_EQ(source.bytes(), std::size_t(cells * size));
    EXPECT_EQ(source.signature(), target.signature());
    std::vector<std::byte> packed(source.bytes() + 1, std::byte{0x5a});
    source.pack(packed.data());
    EXPECT_EQ(packed.back(), std::byte{0x5a});
    target.unpack(packed.data());
    EXPECT_EQ(to.bytes, expected);
  }
}

TEST(Region, SignatureTellsMasksApart) {
  std::array<double, 6> cells{};
  std::array<std::byte, 6> left{std::byte{1}, std::byte{1}}, right{}, gaps{};
  right[4] = right[5] = gaps[0] = gaps[2] = std::byte{1};
  const FieldView field{
      reinterpret_cast<std::byte*>(cells.data()), 8, 1, {6, 1, 1, 1}, {8, 0, 0, 0}};
  const auto masked = [&](std::array<std::byte, 6>& marks) {
    const FieldView mask{marks.data(), 1, 1, {6, 1, 1, 1}, {1, 0, 0, 0}};
    return Region(field, {{}, {6, 1, 1, 1}}, &mask);
  };
  EXPECT_EQ(masked(left).bytes(), masked(right).bytes());
  EXPECT_EQ(masked(left).signature(), masked(left).signature());
  EXPECT_NE(masked(left).signature(), masked(right).signature());
  EXPECT_NE(masked(left).signature(), masked(gaps).signature());
  // Adjacent cells travel in place.
  EXPECT_TRUE(masked(right).contiguous());
  EXPECT_EQ(masked(right).first(), field.data + 32);
  EXPECT_FALSE(masked(gaps).contiguous());
}

}  // namespace
}  // namespace ob::overlap
