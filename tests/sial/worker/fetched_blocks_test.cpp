// A worker with little memory drops the right blocks.

#include "sial/worker/fetched_blocks.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace ob::sial {
namespace {

constexpr std::int64_t kElements = 128;
constexpr std::uint64_t kBytes = kElements * sizeof(double);
constexpr std::uint64_t kLimit = 8;  // blocks

class FetchedBlocksTest : public testing::Test {
 protected:
  FetchedBlock& fetch(std::uint64_t number, bool ahead, bool granted = false) {
    FetchedBlock& entry = fetched_.entry(0, number);
    entry.request = number + 1;
    entry.ahead = ahead;
    entry.granted = granted;
    if (!ahead) entry.epoch = 0;
    Shape shape;
    shape.rank = 1;
    shape.extents[0] = kElements;
    fetched_.arrive(entry, *pool_.allocate(shape));
    return entry;
  }

  BlockPool pool_;
  std::vector<GetCounts> counts_{1};
  FetchedBlocks fetched_{1, kLimit* kBytes, counts_};
};

TEST_F(FetchedBlocksTest, TheLeastRecentlyUsedGoesFirst) {
  for (std::uint64_t number = 0; number < kLimit; ++number) fetch(number, false);
  fetched_.use(*fetched_.find(0, 0));
  EXPECT_EQ(counts_[0].evicted, 0U);
  fetch(kLimit, false);
  EXPECT_EQ(counts_[0].evicted, 3U);  // a quarter of the room is free again
  EXPECT_NE(fetched_.find(0, 0), nullptr);
  EXPECT_EQ(fetched_.find(0, 1), nullptr);
  EXPECT_NE(fetched_.find(0, kLimit), nullptr);
}

TEST_F(FetchedBlocksTest, ThoseToComeStayLongerTheNextOneLongest) {
  for (std::uint64_t number = 0; number < kLimit - 2; ++number) fetch(number, true);
  fetch(100, false);
  fetch(101, false);
  fetch(102, false);
  EXPECT_EQ(counts_[0].evicted, 3U);
  EXPECT_EQ(fetched_.find(0, 102), nullptr);
  for (std::uint64_t number = 0; number < kLimit - 2; ++number) {
    EXPECT_NE(fetched_.find(0, number), nullptr) << number;
  }
  EXPECT_FALSE(fetched_.has_room());
  for (std::uint64_t number = 10; number < 13; ++number) fetch(number, true);
  EXPECT_NE(fetched_.find(0, 0), nullptr);
  EXPECT_EQ(fetched_.find(0, 12), nullptr);
  EXPECT_EQ(counts_[0].unused, 3U);
}

TEST_F(FetchedBlocksTest, BlocksInUseStay) {
  for (std::uint64_t number = 0; number < 2 * kLimit; ++number) fetch(number, false, true);
  EXPECT_EQ(counts_[0].evicted, 0U);
  fetched_.end_grants();
  fetch(2 * kLimit, false);
  EXPECT_GT(counts_[0].evicted, kLimit);
}

TEST_F(FetchedBlocksTest, WhatIsForgottenUnusedIsCounted) {
  fetch(1, true);
  fetch(2, true).epoch = 3;
  fetch(3, false);
  fetched_.forget_all(0);
  EXPECT_EQ(counts_[0].unused, 1U);
  EXPECT_EQ(fetched_.find(0, 3), nullptr);
}

}  // namespace
}  // namespace ob::sial
