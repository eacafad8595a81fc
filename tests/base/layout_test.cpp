// Compares layouts and their cursors with a simple enumeration of every byte's place.

#include "base/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "support/random.hpp"

namespace ob {
namespace {

using test::uniform;
// The offsets of all bytes from the layout's base, in packed order.
using Offsets = std::vector<std::int64_t>;

bool referenced(Triangle triangle, std::uint64_t i, std::uint64_t j) {
  switch (triangle) {
    case Triangle::full: return true;
    case Triangle::upper: return i <= j;
    case Triangle::lower: return i >= j;
    case Triangle::upper_strict: return i < j;
    case Triangle::lower_strict: return i > j;
  }
  return false;
}

Offsets oracle(const Region& r) {
  Offsets offsets;
  for (std::uint64_t j = 0; j < r.cols; ++j) {
    for (std::uint64_t i = 0; i < r.rows; ++i) {
      if (!referenced(r.triangle, i, j)) continue;
      for (std::uint64_t b = 0; b < r.element_bytes; ++b) {
        offsets.push_back(
            static_cast<std::int64_t>(r.offset_bytes + (i + j * r.ld) * r.element_bytes + b));
      }
    }
  }
  return offsets;
}

Offsets oracle(std::uint32_t element_bytes, std::span<const Layout::Dimension> dimensions,
               std::int64_t at = 0) {
  Offsets offsets;
  if (dimensions.empty()) {
    offsets.resize(element_bytes);
    std::iota(offsets.begin(), offsets.end(), at);
    return offsets;
  }
  for (std::uint64_t i = 0; i < dimensions[0].count; ++i) {
    const std::int64_t next = at + static_cast<std::int64_t>(i) * dimensions[0].stride_bytes;
    const Offsets inner = oracle(element_bytes, dimensions.subspan(1), next);
    offsets.insert(offsets.end(), inner.begin(), inner.end());
  }
  return offsets;
}

// Walks through the layout. Advances by random parts of pieces.
Offsets walked(const Layout& layout, const std::byte* base, std::mt19937_64& random) {
  Offsets offsets;
  Layout::Cursor cursor(layout);
  while (!cursor.done()) {
    const auto piece = cursor.piece();
    EXPECT_FALSE(piece.empty());
    const std::uint64_t n =
        random() % 2 ? piece.size() : uniform<std::uint64_t>(random, 1, piece.size());
    for (std::uint64_t b = 0; b < n; ++b) offsets.push_back(piece.data() + b - base);
    cursor.advance(n);
  }
  EXPECT_TRUE(cursor.piece().empty());
  return offsets;
}

// Returns the longest piece that a cursor returns.
std::uint64_t longest_piece(const Layout& layout) {
  std::uint64_t longest = 0;
  for (Layout::Cursor cursor(layout); !cursor.done(); cursor.advance(cursor.piece().size())) {
    longest = std::max<std::uint64_t>(longest, cursor.piece().size());
  }
  return longest;
}

Region random_region(std::mt19937_64& random) {
  Region r;
  r.element_bytes = std::array<std::uint32_t, 5>{1, 4, 8, 16, 3}[random() % 5];
  r.triangle = static_cast<Triangle>(random() % 5);
  r.rows = uniform<std::uint64_t>(random, 0, 9);
  r.cols = uniform<std::uint64_t>(random, 0, 9);
  r.ld = std::max<std::uint64_t>(1, r.rows) + uniform<std::uint64_t>(random, 0, 3);
  r.offset_bytes = uniform<std::uint64_t>(random, 0, 40);
  return r;
}

std::string text(const Region& r) {
  return std::to_string(r.rows) + " x " + std::to_string(r.cols) + " ld " + std::to_string(r.ld) +
         " triangle " + std::to_string(static_cast<int>(r.triangle)) + " element " +
         std::to_string(r.element_bytes) + " offset " + std::to_string(r.offset_bytes);
}

void expect_layout(const Layout& layout, const Offsets& expected, const std::byte* base,
                   std::mt19937_64& random) {
  EXPECT_EQ(layout.total_bytes(), expected.size());
  EXPECT_EQ(walked(layout, base, random), expected);
  EXPECT_EQ(layout.piece_bytes(), longest_piece(layout));
  EXPECT_EQ(layout.contiguous(), longest_piece(layout) == expected.size());
}

TEST(Layout, MatricesListTheBytesTheOracleLists) {
  auto random = test::fresh_random();
  std::vector<std::byte> memory(10000);
  for (int round = 0; round < 4000; ++round) {
    const Region r = random_region(random);
    SCOPED_TRACE(text(r));
    expect_layout(Layout::matrix(memory.data(), r), oracle(r), memory.data(), random);
    if (HasFailure()) return;
  }
}

struct Strided {
  std::uint32_t element_bytes;
  std::vector<Layout::Dimension> dimensions;
};

// Returns strides that often continue the faster dimensions (to test merging), are negative, or
// leave gaps.
Strided random_strided(std::mt19937_64& random) {
  Strided s{static_cast<std::uint32_t>(uniform(random, 1, 16)), {}};
  s.dimensions.resize(uniform<std::size_t>(random, 0, 5));
  auto packed = static_cast<std::int64_t>(s.element_bytes);
  for (std::size_t i = s.dimensions.size(); i-- > 0;) {
    const auto count = random() % 12 == 0 ? 0 : uniform<std::uint64_t>(random, 1, 4);
    const std::int64_t gap = random() % 2 ? 0 : uniform<std::int64_t>(random, 1, 5);
    const bool backwards = random() % 4 == 0;
    const std::int64_t stride = packed + gap;
    s.dimensions[i] = {count, backwards ? -stride : stride};
    packed = stride * static_cast<std::int64_t>(std::max<std::uint64_t>(count, 1));
  }
  return s;
}

TEST(Layout, StridedArraysListTheBytesTheOracleLists) {
  auto random = test::fresh_random();
  std::vector<std::byte> memory(1 << 20);
  std::byte* const base = memory.data() + memory.size() / 2;
  for (int round = 0; round < 4000; ++round) {
    const Strided s = random_strided(random);
    std::string trace = "element " + std::to_string(s.element_bytes);
    for (const auto& d : s.dimensions) {
      trace += ", " + std::to_string(d.count) + " by " + std::to_string(d.stride_bytes);
    }
    SCOPED_TRACE(trace);
    expect_layout(Layout::strided(base, s.element_bytes, s.dimensions),
                  oracle(s.element_bytes, s.dimensions), base, random);
    if (HasFailure()) return;
  }
}

TEST(Layout, NeighboursThatAreContiguousAreMerged) {
  std::byte memory[4096];
  using D = Layout::Dimension;
  const auto piece = [&](std::vector<D> dimensions) {
    return Layout::strided(memory, 8, dimensions).piece_bytes();
  };
  EXPECT_EQ(piece({{2, 96}, {3, 32}, {4, 8}}), 192u);  // all dimensions
  EXPECT_EQ(piece({{2, 100}, {3, 32}, {4, 8}}), 96u);  // a gap after the second
  EXPECT_EQ(piece({{2, 96}, {3, 32}, {4, -8}}), 8u);   // a negative stride
  EXPECT_EQ(piece({{2, 96}, {1, 777}, {4, 8}}), 32u);  // a dimension of one has no stride
  EXPECT_EQ(piece({{2, 32}, {1, 777}, {4, 8}}), 64u);
  EXPECT_EQ(piece({}), 8u);
  const Region tight{0, 8, Triangle::full, 5, 3, 5};
  EXPECT_TRUE(Layout::matrix(memory, tight).contiguous());
  const Region loose{0, 8, Triangle::full, 5, 3, 6};
  EXPECT_FALSE(Layout::matrix(memory, loose).contiguous());
  const Region column{0, 8, Triangle::full, 5, 1, 6};
  EXPECT_TRUE(Layout::matrix(memory, column).contiguous());
  EXPECT_TRUE(Layout::bytes(memory, 4096).contiguous());
}

// A triangle of 3 x 3 without diagonal has 3 elements, like a column, but it is not one column.
TEST(Layout, TrianglesAreContiguousOnlyIfTheyAreOnePiece) {
  std::byte memory[1024];
  for (const Triangle triangle : {Triangle::upper_strict, Triangle::lower_strict}) {
    EXPECT_FALSE(Layout::matrix(memory, {0, 8, triangle, 3, 3, 3}).contiguous());
    EXPECT_TRUE(Layout::matrix(memory, {0, 8, triangle, 2, 2, 2}).contiguous());
  }
  EXPECT_FALSE(Layout::matrix(memory, {0, 8, Triangle::upper, 3, 2, 3}).contiguous());
}

// This would take very long if columns without elements were visited one by one.
TEST(Layout, WideMatricesEndWithTheirLastElement) {
  std::byte memory[64];
  const Layout layout =
      Layout::matrix(memory, {0, 8, Triangle::lower, 2, std::uint64_t{1} << 60, 2});
  EXPECT_EQ(layout.total_bytes(), 24u);
  Layout::Cursor cursor(layout);
  std::uint64_t seen = 0;
  for (; !cursor.done(); cursor.advance(cursor.piece().size())) seen += cursor.piece().size();
  EXPECT_EQ(seen, 24u);
}

TEST(Layout, EmptyLayoutsAreDoneAtOnce) {
  std::byte memory[8];
  for (const Layout& layout : {Layout(), Layout::bytes(memory, 0), Layout::bytes(nullptr, 0),
                               Layout::matrix(nullptr, {0, 8, Triangle::upper_strict, 1, 1, 1}),
                               Layout::matrix(nullptr, {0, 8, Triangle::full, 0, 5, 1})}) {
    EXPECT_EQ(layout.total_bytes(), 0u);
    EXPECT_EQ(layout.piece_bytes(), 0u);
    EXPECT_TRUE(Layout::Cursor(layout).done());
    EXPECT_TRUE(Layout::Cursor(layout).piece().empty());
  }
}

TEST(Layout, ACopiedCursorRepeatsFromItsPlace) {
  std::vector<std::byte> memory(1000);
  const Layout layout = Layout::matrix(memory.data(), {0, 8, Triangle::lower, 5, 5, 7});
  Layout::Cursor cursor(layout);
  cursor.advance(40);
  cursor.advance(3);
  Layout::Cursor copy = cursor;
  cursor.advance(29);
  EXPECT_NE(cursor.piece().data(), copy.piece().data());
  EXPECT_EQ(copy.piece().data(), memory.data() + 8 * 8 + 3);
  EXPECT_EQ(copy.piece().size(), 29u);
}

constexpr std::byte kPoison{0xA5};

// Copies between layouts of the same number of bytes that are cut into different pieces.
TEST(Copy, MovesEveryByteAndTouchesNoOther) {
  auto random = test::fresh_random();
  for (int round = 0; round < 2000; ++round) {
    Region from = random_region(random);
    Region to = from;
    to.ld += uniform<std::uint64_t>(random, 0, 5);
    to.offset_bytes = uniform<std::uint64_t>(random, 0, 40);
    SCOPED_TRACE(text(from));
    std::vector<std::byte> source(4000);
    for (std::byte& b : source) b = static_cast<std::byte>(random());
    std::vector<std::byte> destination(6000, kPoison);
    auto expected = destination;
    const Offsets out = oracle(to);
    const Offsets in = oracle(from);
    for (std::size_t k = 0; k < out.size(); ++k) expected[out[k]] = source[in[k]];
    copy(Layout::matrix(destination.data(), to), Layout::matrix(source.data(), from));
    ASSERT_EQ(destination, expected);
  }
}

TEST(GatherScatter, PackAndUnpackInPartsAndLeaveGapsAlone) {
  auto random = test::fresh_random();
  for (int round = 0; round < 2000; ++round) {
    const Region r = random_region(random);
    SCOPED_TRACE(text(r));
    std::vector<std::byte> source(4000);
    for (std::byte& b : source) b = static_cast<std::byte>(random());
    const Offsets offsets = oracle(r);

    std::vector<std::byte> packed(offsets.size() + 16, kPoison);
    const Layout from = Layout::matrix(source.data(), r);
    Layout::Cursor reader(from);
    for (std::size_t at = 0; at < offsets.size();) {
      const std::size_t part = uniform<std::size_t>(random, 1, offsets.size() - at + 8);
      const std::uint64_t got =
          gather(reader, {packed.data() + at, std::min(part, packed.size() - at)});
      ASSERT_EQ(got, std::min(part, offsets.size() - at));
      at += got;
    }
    EXPECT_TRUE(reader.done());
    for (std::size_t k = 0; k < offsets.size(); ++k) ASSERT_EQ(packed[k], source[offsets[k]]);
    for (std::size_t k = offsets.size(); k < packed.size(); ++k) ASSERT_EQ(packed[k], kPoison);

    std::vector<std::byte> destination(4000, kPoison);
    auto expected = destination;
    for (std::size_t k = 0; k < offsets.size(); ++k) expected[offsets[k]] = packed[k];
    const Layout to = Layout::matrix(destination.data(), r);
    Layout::Cursor writer(to);
    for (std::size_t at = 0; at < offsets.size();) {
      const std::size_t part = uniform<std::size_t>(random, 1, offsets.size() - at);
      ASSERT_EQ(scatter({packed.data() + at, part}, writer), part);
      at += part;
    }
    EXPECT_TRUE(writer.done());
    EXPECT_EQ(scatter({packed.data(), 1}, writer), 0u);  // no room is left
    ASSERT_EQ(destination, expected);
  }
}

}  // namespace
}  // namespace ob
