#include "overlap/broadcast.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace ob::overlap {
namespace {

/// Follows the children from the owner and returns how many steps away each rank is; -1: never
/// reached, -2: reached twice, or from a rank that is not its parent.
std::vector<int> steps_from(Broadcast kind, int ranks, int owner) {
  std::vector<int> steps(std::size_t(ranks), -1);
  std::vector<int> front{owner};
  steps[std::size_t(owner)] = 0;
  while (!front.empty()) {
    std::vector<int> next;
    for (const int rank : front)
      for (const int child : links_of(kind, ranks, owner, rank).children) {
        const bool first = steps[std::size_t(child)] == -1;
        const bool known = links_of(kind, ranks, owner, child).parent == rank;
        steps[std::size_t(child)] = first && known ? steps[std::size_t(rank)] + 1 : -2;
        if (first) next.push_back(child);
      }
    front = next;
  }
  return steps;
}

TEST(Broadcast, ReachesEachRankOnceFromItsParent) {
  for (const Broadcast kind : {Broadcast::ring, Broadcast::tree})
    for (int ranks = 1; ranks <= 40; ++ranks)
      for (int owner = 0; owner < ranks; ++owner) {
        const std::vector<int> steps = steps_from(kind, ranks, owner);
        const auto [least, most] = std::minmax_element(steps.begin(), steps.end());
        EXPECT_EQ(*least, 0) << ranks << " ranks, owner " << owner;
        int depth = 0;
        while (kind == Broadcast::tree && (1 << depth) < ranks) ++depth;
        EXPECT_EQ(*most, kind == Broadcast::ring ? ranks - 1 : *most);
        if (kind == Broadcast::tree) EXPECT_LE(*most, depth) << ranks << " ranks";
        EXPECT_EQ(links_of(kind, ranks, owner, owner).parent, -1);
      }
}

TEST(Broadcast, OwnerOfATreeSendsTheLargestSubtreeFirst) {
  EXPECT_EQ(links_of(Broadcast::tree, 8, 3, 3).children, (std::vector<int>{7, 5, 4}));
  EXPECT_EQ(links_of(Broadcast::tree, 6, 0, 4).children, (std::vector<int>{5}));
  EXPECT_EQ(links_of(Broadcast::ring, 5, 3, 4).children, (std::vector<int>{0}));
  EXPECT_EQ(links_of(Broadcast::ring, 5, 3, 4).parent, 3);
}

TEST(Broadcast, PiecesCoverThePanelAndBeginAtCacheLines) {
  for (const std::size_t bytes : {0ul, 1ul, 63ul, 64ul, 65ul, 1000ul, 123457ul})
    for (const int pieces : {1, 2, 7, 64}) {
      EXPECT_EQ(piece_begin(bytes, pieces, 0), 0u);
      EXPECT_EQ(piece_begin(bytes, pieces, pieces), bytes);
      for (int i = 0; i < pieces; ++i) {
        const std::size_t begin = piece_begin(bytes, pieces, i);
        EXPECT_LE(begin, piece_begin(bytes, pieces, i + 1));
        EXPECT_TRUE(begin % 64 == 0 || begin == bytes);
      }
    }
}

TEST(Broadcast, SmallPanelsGoByTreeAndLargeOnesByRing) {
  EXPECT_EQ(choose_way(Broadcast::automatic, 8, 1000), (BroadcastWay{Broadcast::tree, 1}));
  const BroadcastWay large = choose_way(Broadcast::automatic, 8, 16u << 20);
  EXPECT_EQ(large.kind, Broadcast::ring);
  EXPECT_GT(large.pieces, 8);
  // Between two ranks there is nothing to pass on.
  EXPECT_EQ(choose_way(Broadcast::automatic, 2, 16u << 20), (BroadcastWay{Broadcast::tree, 1}));
  EXPECT_EQ(choose_way(Broadcast::ring, 8, 1000).kind, Broadcast::ring);
  EXPECT_EQ(choose_way(Broadcast::tree, 8, 16u << 20).kind, Broadcast::tree);
}

TEST(Broadcast, NoPieceIsTooLargeForMpi) {
  const std::size_t bytes = std::size_t{128} << 30;
  for (const Broadcast kind : {Broadcast::ring, Broadcast::tree, Broadcast::automatic})
    for (const int ranks : {1, 2, 9}) {
      const BroadcastWay way = choose_way(kind, ranks, bytes);
      EXPECT_LE(bytes / std::size_t(way.pieces), std::size_t{1} << 30);
      EXPECT_LE(way.pieces, kMostPieces);
    }
}

}  // namespace
}  // namespace ob::overlap
