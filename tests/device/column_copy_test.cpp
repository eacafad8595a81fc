#include "device/column_copy.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "support/random.hpp"

namespace ob {
namespace {

using Bytes = std::vector<std::byte>;

// Copies on the host, counts the copies, and records the longest pitch.
struct Copier {
  int copies = 0;
  std::uint64_t longest_pitch = 0;

  CopyColumns function() {
    return [this](const ColumnCopy& copy) {
      ++copies;
      for (std::uint64_t i = 0; i < copy.columns; ++i) {
        std::memcpy(copy.to + i * copy.to_pitch_bytes, copy.from + i * copy.from_pitch_bytes,
                    copy.width_bytes);
      }
      if (copy.columns > 1) {
        EXPECT_GE(copy.to_pitch_bytes, copy.width_bytes);
        EXPECT_GE(copy.from_pitch_bytes, copy.width_bytes);
        longest_pitch = std::max({longest_pitch, copy.to_pitch_bytes, copy.from_pitch_bytes});
      }
      return Status();
    };
  }
};

Bytes random_bytes(std::mt19937_64& random, std::size_t size) {
  Bytes bytes(size);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

TEST(ColumnCopy, MovesWhatTheLayoutsSay) {
  std::mt19937_64 random = test::fresh_random();
  for (int round = 0; round < 200; ++round) {
    Region from{.element_bytes = 4, .triangle = static_cast<Triangle>(round % 5)};
    from.rows = test::uniform<std::uint64_t>(random, 1, 9);
    from.cols = test::uniform<std::uint64_t>(random, 1, 9);
    Region to = from;
    from.ld = from.rows + test::uniform<std::uint64_t>(random, 0, 3);
    to.ld = to.rows + test::uniform<std::uint64_t>(random, 0, 3);
    Bytes source = random_bytes(random, from.ld * from.cols * 4);
    Bytes got(to.ld * to.cols * 4, std::byte{0xFF});
    Bytes expected = got;
    const Layout from_layout = Layout::matrix(source.data(), from);
    copy(Layout::matrix(expected.data(), to), from_layout);
    const Layout to_layout = Layout::matrix(got.data(), to);
    Layout::Cursor to_cursor(to_layout);
    Layout::Cursor from_cursor(from_layout);
    Copier copier;
    ASSERT_TRUE(
        copy_pieces(to_cursor, from_cursor, from_layout.total_bytes(), 1 << 20, copier.function())
            .ok());
    EXPECT_EQ(got, expected) << round;
    if (from.triangle == Triangle::full) EXPECT_EQ(copier.copies, 1) << round;
  }
}

TEST(ColumnCopy, NoPitchIsLongerThanAllowed) {
  const Region region{.element_bytes = 1, .rows = 2, .cols = 5, .ld = 100};
  Bytes source(500);
  Bytes target(500);
  const Layout from = Layout::matrix(source.data(), region);
  const Layout to = Layout::matrix(target.data(), region);
  for (const std::uint64_t most : {99, 100}) {
    Layout::Cursor from_cursor(from);
    Layout::Cursor to_cursor(to);
    Copier copier;
    ASSERT_TRUE(copy_pieces(to_cursor, from_cursor, 10, most, copier.function()).ok());
    EXPECT_LE(copier.longest_pitch, most);
    EXPECT_EQ(copier.copies, most < 100 ? 5 : 1);
  }
}

TEST(ColumnCopy, LayoutsThatEndTooEarlyAreAnError) {
  Bytes bytes(10);
  const Layout short_one = Layout::bytes(bytes.data(), 3);
  const Layout long_one = Layout::bytes(bytes.data() + 4, 5);
  Layout::Cursor from(short_one);
  Layout::Cursor to(long_one);
  Copier copier;
  EXPECT_EQ(copy_pieces(to, from, 5, 100, copier.function()).code(), Code::internal);
}

TEST(ColumnCopy, TheFirstErrorEndsIt) {
  Region region{.element_bytes = 1, .triangle = Triangle::lower, .rows = 4, .cols = 4, .ld = 4};
  Bytes source(16);
  Bytes target(16);
  const Layout from = Layout::matrix(source.data(), region);
  const Layout to = Layout::matrix(target.data(), region);
  Layout::Cursor from_cursor(from);
  Layout::Cursor to_cursor(to);
  int calls = 0;
  const Status status = copy_pieces(to_cursor, from_cursor, 10, 100, [&](const ColumnCopy&) {
    ++calls;
    return Status(Code::device_error, "broken");
  });
  EXPECT_EQ(status.code(), Code::device_error);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace ob
