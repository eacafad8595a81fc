// Tests that remembered digests are equal to those of the present memory, after any writes at any
// time.

#include "algorithms/residency/operand_digests.hpp"

#include <cstring>

#include "base/chunks.hpp"
#include "base/private_memory.hpp"
#include "support/random.hpp"

namespace ob::algorithms {
namespace {

using test::kPage;

class OperandDigestsTest : public testing::Test {
 protected:
  OperandDigestsTest() { std::memset(memory.data(), 1, memory.size()); }

  void look(bool stays = true) { digests.look(tracking, memory.data(), home, kPage, stays); }
  Digest now(std::uint64_t chunk) const {
    const ChunkParts parts = Chunks(home, kPage).at(chunk);
    return digest_of(memory.data(), parts.span());
  }
  // Checks the operand, compares all chunks, and reports them as equal.
  void look_at_all(bool stays = true) {
    look(stays);
    for (std::uint64_t i = 0; i < 8; ++i) {
      EXPECT_EQ(digests.at(i), now(i)) << "chunk " << i;
      digests.compared(i, true);
    }
  }
  int unread() const {
    int count = 0;
    for (std::uint64_t i = 0; i < 8; ++i) count += digests.unread(i) ? 1 : 0;
    return count;
  }

  test::Mapping memory{8 * kPage};
  Region home{0, 8, Triangle::full, 8 * kPage / 8, 1, 8 * kPage / 8, 8};
  PageTracker tracker;
  PageTracking tracking{&tracker, 1, 2};
  OperandDigests digests;
};

TEST_F(OperandDigestsTest, WithoutATrackerAllAreTakenEachTime) {
  tracking.tracker = nullptr;
  for (int i = 0; i < 5; ++i) {
    look_at_all();
    EXPECT_EQ(unread(), 0);
    memory.page(static_cast<std::size_t>(i))[9] = std::byte{2};
  }
}

TEST_F(OperandDigestsTest, WhatIsQuietIsReadNoMore) {
  if (!test::tracks(tracker)) return;
  for (int i = 0; i < 3; ++i) {  // two checks find no change, the third one arms
    look_at_all();
    EXPECT_EQ(unread(), 0);
  }
  for (int i = 0; i < 3; ++i) {
    look_at_all();
    EXPECT_EQ(unread(), 8);
  }
  memory.page(5)[7] = std::byte{2};
  for (const int expected : {7, 7, 7, 7, 7, 8}) {  // takes twice as many unchanged checks as before
    look_at_all();
    EXPECT_EQ(unread(), expected);
  }
}

TEST_F(OperandDigestsTest, WritesDuringALookAreSeenByTheNext) {
  if (!test::tracks(tracker)) return;
  for (int i = 0; i < 2; ++i) look_at_all();
  look();  // arms
  memory.page(2)[7] = std::byte{2};
  EXPECT_EQ(digests.at(2), now(2)) << "armed, then written, then read";
  memory.page(2)[8] = std::byte{3};
  EXPECT_EQ(digests.at(3), now(3));
  memory.page(3)[8] = std::byte{3};
  look_at_all();
  EXPECT_EQ(unread(), 0) << "chunks that were not read in the look that armed them are unknown";
}

TEST_F(OperandDigestsTest, WhatTheCallWritesIsNotArmed) {
  if (!test::tracks(tracker)) return;
  for (int i = 0; i < 6; ++i) {
    look_at_all(false);
    EXPECT_EQ(unread(), 0);
  }
}

TEST_F(OperandDigestsTest, SmallAndScatteredOperandsAreRead) {
  if (!test::tracks(tracker)) return;
  tracking.least_bytes = memory.size() + 1;
  for (int i = 0; i < 6; ++i) look_at_all();
  EXPECT_EQ(unread(), 0);
  tracking.least_bytes = 1;
  home = {0, 8, Triangle::full, 1, 8, kPage / 8, 8};  // a row
  for (int i = 0; i < 6; ++i) look();
  EXPECT_EQ(unread(), 0);
}

// The last chunks of a lower triangle that is wider than high have no elements.
TEST_F(OperandDigestsTest, ChunksWithoutElements) {
  home = {0, 8, Triangle::lower, kPage / 8, 8, kPage / 8, 8};
  home.rows = 4;
  home.ld = 4;
  home.cols = 60;
  for (int i = 0; i < 6; ++i) {
    digests.look(tracking, memory.data(), home, 32, true);
    const Chunks chunks(home, 32);
    for (std::uint64_t c = 0; c < chunks.count(); ++c) {
      const ChunkParts parts = chunks.at(c);
      EXPECT_EQ(digests.at(c), digest_of(memory.data(), parts.span()));
      digests.compared(c, true);
    }
  }
}

// A chunk of an upper triangle is the block above its block of the diagonal, and the triangle in
// that block of the diagonal.
TEST_F(OperandDigestsTest, AllPartsOfAChunkAreLookedAt) {
  if (!test::tracks(tracker)) return;
  const std::uint64_t n = 2 * kPage / 8;  // a column takes two pages
  const std::uint64_t chunk_bytes = 4 * n * 8;
  const std::uint64_t middle = n / 2;  // first column of a chunk whose triangle begins a page
  const test::Mapping matrix(n * n * 8);
  std::memset(matrix.data(), 1, matrix.size());
  home = {0, 8, Triangle::upper, n, n, n, 8};
  const auto look_at_chunk = [&] {
    digests.look(tracking, matrix.data(), home, chunk_bytes, true);
    const ChunkParts parts = Chunks(home, chunk_bytes).at(middle / 4);
    EXPECT_EQ(parts.count, 2);
    EXPECT_EQ(digests.at(middle / 4), digest_of(matrix.data(), parts.span()));
    digests.compared(middle / 4, true);
  };
  for (int i = 0; i < 4; ++i) look_at_chunk();
  EXPECT_TRUE(digests.unread(middle / 4));
  matrix.data()[((middle + 3) * n + middle + 1) * 8] = std::byte{2};
  look_at_chunk();
  EXPECT_FALSE(digests.unread(middle / 4));
}

TEST_F(OperandDigestsTest, AnotherTriangleOfThePlaceIsAnotherOperand) {
  if (!test::tracks(tracker)) return;
  home = {0, 8, Triangle::upper, 32, 32, 32, 8};
  for (const Triangle triangle : {Triangle::upper, Triangle::lower, Triangle::upper}) {
    home.triangle = triangle;
    for (int i = 0; i < 5; ++i) {
      look();
      EXPECT_EQ(digests.unread(0), i > 2);
      EXPECT_EQ(digests.at(0), now(0));
      digests.compared(0, true);
    }
  }
}

}  // namespace
}  // namespace ob::algorithms
