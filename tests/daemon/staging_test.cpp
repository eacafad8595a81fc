#include "daemon/memory/region_pieces.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <vector>

#include "backend/null/backend.hpp"
#include "daemon/memory/staged_writer.hpp"
#include "support/random.hpp"

namespace ob::daemon {
namespace {

using Bytes = std::vector<std::byte>;

Bytes packed(Bytes& memory, const Region& region) {
  Bytes elements(packed_bytes(region));
  copy(Layout::bytes(elements.data(), elements.size()), Layout::matrix(memory.data(), region));
  return elements;
}

// The reference is the region's own packed order, computed by Layout.
TEST(Staging, PiecesFollowOneAnotherInTheRegionsOrder) {
  std::mt19937_64 random = test::fresh_random();
  for (int i = 0; i < 2000; ++i) {
    Region region;
    region.element_bytes = 1U << (random() % 5);
    region.triangle = static_cast<Triangle>(random() % 5);
    region.rows = random() % 40;
    region.cols = random() % 40;
    region.ld = region.rows + random() % 5 + 1;
    region.offset_bytes = random() % 64;
    const std::uint64_t most_bytes = 16 + random() % 700;
    Bytes memory(region.offset_bytes + region.ld * (region.cols + 1) * region.element_bytes);
    for (std::byte& byte : memory) byte = static_cast<std::byte>(random());
    Bytes pieces;
    const Status status = for_each_piece(region, most_bytes, [&](const Region& piece) {
      EXPECT_LE(packed_bytes(piece), most_bytes);
      EXPECT_GT(packed_bytes(piece), 0u);
      EXPECT_TRUE(fits(piece, memory.size()));
      const Bytes elements = packed(memory, piece);
      pieces.insert(pieces.end(), elements.begin(), elements.end());
      return Status();
    });
    EXPECT_TRUE(status.ok());
    ASSERT_EQ(pieces, packed(memory, region))
        << region.rows << " x " << region.cols << ", triangle " << static_cast<int>(region.triangle)
        << ", elements of " << region.element_bytes;
  }
}

TEST(Staging, APieceThatFailsEndsIt) {
  const Region region{.element_bytes = 8, .rows = 100, .cols = 100, .ld = 100};
  int taken = 0;
  const Status status = for_each_piece(region, 800, [&](const Region&) -> Status {
    return ++taken < 3 ? Status() : Status(Code::device_error, "enough");
  });
  EXPECT_EQ(status.code(), Code::device_error);
  EXPECT_EQ(taken, 3);
}

// A region without rows fits in every buffer. A client may name so many columns that nobody can
// count them.
TEST(Staging, ARegionWithoutElementsHasNoPieces) {
  for (const Triangle triangle :
       {Triangle::full, Triangle::upper, Triangle::lower, Triangle::upper_strict}) {
    const Region region{.element_bytes = 8,
                        .triangle = triangle,
                        .rows = 0,
                        .cols = std::uint64_t{1} << 60,
                        .ld = 1};
    ASSERT_TRUE(fits(region, 0));
    int taken = 0;
    const Status status = for_each_piece(region, 800, [&](const Region&) -> Status {
      ++taken;
      return {};
    });
    EXPECT_TRUE(status.ok());
    EXPECT_EQ(taken, 0);
  }
}

// The payload for the first room was not received, so nothing was submitted.
TEST(Staging, RoomThatWasNotUsedIsGivenOutAgain) {
  const auto device = null::create({.memory_bytes = 1 << 20});
  ASSERT_TRUE(device.ok());
  const auto queue = (*device)->create_queue();
  ASSERT_TRUE(queue.ok());
  StagedWriter writer(**device, *queue, {});
  const auto idle = [] { return Status(); };
  const auto first = writer.room(StagedWriter::kBlockBytes, idle);
  ASSERT_TRUE(first.ok());
  for (int i = 0; i < 3; ++i) {
    const auto next = writer.room(StagedWriter::kBlockBytes, idle);
    ASSERT_TRUE(next.ok());
    EXPECT_EQ(*next, *first);  // the only place in the block for so many bytes
  }
}

}  // namespace
}  // namespace ob::daemon
