// Compares the distribution of blocks to devices and slabs with a distribution one by one.

#include "algorithms/factor/column_distribution.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "support/random.hpp"

namespace ob::test {
namespace {

using algorithms::BlockIndex;
using algorithms::ColumnDistribution;
using algorithms::GlobalIndex;
using algorithms::LocalIndex;
using algorithms::Rank;
using algorithms::Slab;
using algorithms::SlabIndex;

std::vector<double> random_shares(std::mt19937_64& random) {
  std::vector<double> shares(uniform<std::size_t>(random, 1, 9));
  for (double& share : shares) share = uniform(random, 1, 20);
  return shares;
}

TEST(ColumnDistribution, EqualSharesGoRoundInTurn) {
  auto random = fresh_random();
  for (int round = 0; round < 200; ++round) {
    const auto devices = uniform<std::size_t>(random, 1, 9);
    const std::vector<double> shares(devices, uniform(random, 1, 1000) / 7.0);
    const ColumnDistribution distribution(uniform<std::uint64_t>(random, 0, 500),
                                          uniform<std::uint64_t>(random, 1, 20), shares);
    for (BlockIndex block; block < distribution.end_block(); ++block) {
      ASSERT_EQ(distribution.owner(block).value(), block.value() % devices);
    }
  }
}

TEST(ColumnDistribution, SharesAreKeptAllAlong) {
  auto random = fresh_random();
  for (int round = 0; round < 200; ++round) {
    const std::vector<double> shares = random_shares(random);
    const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
    const ColumnDistribution distribution(300, 1, shares);
    std::vector<double> had(shares.size());
    for (BlockIndex block; block < distribution.end_block(); ++block) {
      ++had[distribution.owner(block).value()];
      for (std::size_t at = 0; at < shares.size(); ++at) {
        const double due = static_cast<double>(block.value() + 1) * shares[at] / all;
        ASSERT_LT(std::abs(had[at] - due), 2) << at << " after " << block.value();
      }
    }
  }
}

TEST(ColumnDistribution, EveryColumnHasOnePlaceInItsSlab) {
  auto random = fresh_random();
  for (int round = 0; round < 500; ++round) {
    const std::vector<double> shares = random_shares(random);
    ColumnDistribution distribution(uniform<std::uint64_t>(random, 0, 200),
                                    uniform<std::uint64_t>(random, 1, 50), shares);
    const auto most = uniform<std::uint64_t>(random, distribution.width(), 100);
    ASSERT_TRUE(
        distribution.cut([&](auto, auto, std::uint64_t columns) { return columns <= most; }));
    GlobalIndex next;
    BlockIndex next_block;
    for (SlabIndex number; number < distribution.end_slab(); ++number) {
      const Slab& slab = distribution.slab(number);
      ASSERT_EQ(slab.first, next_block);
      std::vector<std::uint64_t> had(shares.size());
      for (BlockIndex block = slab.first; block < slab.end; ++block) {
        ASSERT_TRUE(slab.contains(block));
        ASSERT_EQ(distribution.first(block), next);
        std::uint64_t& columns = had[distribution.owner(block).value()];
        ASSERT_EQ(distribution.local_first(block), LocalIndex(columns));
        ASSERT_GT(distribution.count(block), 0u);
        next = distribution.end(block);
        columns += distribution.count(block);
      }
      for (std::size_t at = 0; at < shares.size(); ++at) {
        ASSERT_EQ(distribution.local_count(Rank(at), number), had[at]);
        ASSERT_LE(had[at], most);
      }
      next_block = slab.end;
    }
    ASSERT_EQ(next, GlobalIndex(distribution.length()));
    ASSERT_EQ(next_block, distribution.end_block());
    for (Rank rank; rank.value() < shares.size(); ++rank) {
      const BlockIndex end = distribution.end_block();
      const BlockIndex from(uniform<std::uint64_t>(random, 0, end.value() + 3));
      BlockIndex expected = from;
      while (expected < end && distribution.owner(expected) != rank) ++expected;
      ASSERT_EQ(distribution.next_of(rank, from), std::min(expected, end));
    }
  }
}

TEST(ColumnDistribution, NoSlabCouldBeginEarlier) {
  auto random = fresh_random();
  for (int round = 0; round < 200; ++round) {
    const auto devices = uniform<std::size_t>(random, 1, 5);
    ColumnDistribution distribution(200, uniform<std::uint64_t>(random, 1, 9), devices);
    // as for a triangle: a later block is less high
    const auto memory = uniform<std::uint64_t>(random, 200 * distribution.width(), 20000);
    const auto fits = [&](BlockIndex first, Rank, std::uint64_t columns) {
      return (GlobalIndex(200) - distribution.first(first)) * columns <= memory;
    };
    ASSERT_TRUE(distribution.cut(fits));
    for (SlabIndex number; number < distribution.end_slab(); ++number) {
      const Slab& slab = distribution.slab(number);
      if (slab.first == BlockIndex(0)) continue;
      const BlockIndex more = slab.first - 1;
      bool all = true;
      for (Rank at; at.value() < devices; ++at) {
        const std::uint64_t own = distribution.owner(more) == at ? distribution.count(more) : 0;
        const std::uint64_t columns = distribution.local_count(at, number) + own;
        all = all && (columns == 0 || fits(more, at, columns));
      }
      ASSERT_FALSE(all);
    }
  }
  ColumnDistribution none(10, 2, 2);
  EXPECT_FALSE(none.cut([](auto, auto, auto) { return false; }));
}

}  // namespace
}  // namespace ob::test
