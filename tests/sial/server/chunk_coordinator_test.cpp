// Workers that compute for random times ask for chunks. The oracle counts the survivors of a random
// mask one by one.

#include "sial/server/chunk_coordinator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

namespace ob::sial {
namespace {

class ChunkCoordinatorTest : public testing::Test {
 protected:
  ChunkCoordinatorTest() { RecordProperty("seed", static_cast<int>(seed_)); }

  void make_mask(std::uint64_t total) {
    const unsigned one_in = 1 + random_() % 10;
    survives_.clear();
    for (std::uint64_t raw = 0; raw < total; ++raw) survives_.push_back(random_() % one_in == 0);
  }
  LoopPlace place(std::uint64_t raw) const {
    const auto end = survives_.begin() + static_cast<std::ptrdiff_t>(raw);
    return {raw, static_cast<std::uint64_t>(std::count(survives_.begin(), end, true))};
  }
  ChunkRequest request(Rank worker, std::uint64_t pardo) const {
    ChunkRequest made;
    made.worker = worker;
    made.epoch = 3;
    made.pardo = pardo;
    made.instruction = 17;
    made.total = survives_.size();
    return made;
  }

  const unsigned seed_ = std::random_device{}();
  std::mt19937 random_{seed_};
  std::vector<bool> survives_;
};

TEST_F(ChunkCoordinatorTest, GivesEachIterationOnce) {
  SCOPED_TRACE(seed_);
  for (std::uint64_t pardo = 0; pardo < 200; ++pardo) {
    const Rank workers = 1 + random_() % 8;
    ChunkCoordinator coordinator(workers);
    make_mask(random_() % 300);
    const std::uint64_t survivors = place(survives_.size()).survivors;
    const std::uint64_t window = 1 + random_() % 100;
    std::vector<LoopPlace> known(workers);
    std::vector<Rank> active;
    for (Rank worker = 0; worker < workers; ++worker) active.push_back(worker);
    std::uint64_t given = 0;
    while (!active.empty()) {
      const std::size_t who = random_() % active.size();
      const Rank worker = active[who];
      ChunkRequest asked = request(worker, pardo);
      asked.counted = place(std::min(asked.total, known[worker].raw + window));
      asked.least = random_() % 4;
      const std::optional<Chunk> chunk = coordinator.next(asked);
      ASSERT_TRUE(chunk);
      EXPECT_EQ(chunk->begin, given);
      EXPECT_LE(chunk->from.survivors, chunk->begin);
      for (const LoopPlace& told : {chunk->from, chunk->counted}) {
        EXPECT_EQ(told.survivors, place(told.raw).survivors);
      }
      known[worker] = chunk->counted;
      given = chunk->end;
      if (chunk->empty()) active.erase(active.begin() + static_cast<std::ptrdiff_t>(who));
    }
    EXPECT_GE(given, survivors);
    EXPECT_EQ(coordinator.open(), 0U);
  }
}

TEST_F(ChunkCoordinatorTest, ChunksShrinkToTheLeast) {
  survives_.assign(1000, true);
  ChunkCoordinator coordinator(4);
  std::vector<std::uint64_t> sizes;
  for (;;) {
    ChunkRequest asked = request(0, 1);
    asked.counted = {1000, 1000};
    asked.least = 5;
    const std::optional<Chunk> chunk = coordinator.next(asked);
    ASSERT_TRUE(chunk);
    if (chunk->empty()) break;
    sizes.push_back(chunk->end - chunk->begin);
  }
  // By hand: 1000 / 8 = 125; 875 / 8 = 109.4; 765 / 8 = 95.6.
  EXPECT_EQ(sizes[0], 125U);
  EXPECT_EQ(sizes[1], 110U);
  EXPECT_EQ(sizes[2], 96U);
  EXPECT_TRUE(std::is_sorted(sizes.rbegin() + 1, sizes.rend()));
  EXPECT_EQ(sizes[sizes.size() - 2], 5U);
  EXPECT_LE(sizes.back(), 5U);
}

TEST_F(ChunkCoordinatorTest, NamesTheOtherPardo) {
  survives_.assign(10, true);
  ChunkCoordinator coordinator(2);
  ASSERT_TRUE(coordinator.next(request(1, 4)));
  ChunkRequest other = request(0, 4);
  other.instruction = 99;
  EXPECT_FALSE(coordinator.next(other));
  EXPECT_EQ(coordinator.first(other).instruction, 17U);
  EXPECT_EQ(coordinator.first(other).worker, 1U);
  other = request(0, 4);
  other.total = 11;
  EXPECT_FALSE(coordinator.next(other));
}

}  // namespace
}  // namespace ob::sial
