#pragma once
// The ways of a panel from its owner to all ranks of a group.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ob::overlap {

/// Values of OB_OVERLAP_BROADCAST_... in outboard/overlap.h.
enum class Broadcast : std::int32_t {
  automatic = 0,  ///< the faster one by a model
  ring = 1,       ///< from rank to rank, in pieces that follow each other
  tree = 2,       ///< binomial
};
constexpr int kBroadcasts = 3;

/// The most pieces of a panel. With tags below 16384 it permits 64 panels under way.
constexpr int kMostPieces = 256;

/// The way of the panels of one size.
struct BroadcastWay {
  Broadcast kind = Broadcast::tree;  ///< ring or tree
  int pieces = 1;
  bool operator==(const BroadcastWay&) const = default;
};

/// Returns the way that takes least, if a message costs as much as kMessageBytes more of them:
/// ring (n - 2 + p)(M + S/p), tree ceil(log2 n)(M + S) for n ranks, p pieces, S bytes.
/// @param asked the only kind to consider, or automatic
BroadcastWay choose_way(Broadcast asked, int ranks, std::size_t bytes) noexcept;

/// The neighbours of a rank.
struct BroadcastLinks {
  int parent = -1;            ///< -1: the owner
  std::vector<int> children;  ///< in the order of sending
};

/// @pre kind is ring or tree, 0 <= owner < ranks, 0 <= rank < ranks
BroadcastLinks links_of(Broadcast kind, int ranks, int owner, int rank);

/// Returns the first byte of a piece; that of piece `pieces` is the end. Pieces begin at cache
/// lines.
std::size_t piece_begin(std::size_t bytes, int pieces, int piece) noexcept;

}  // namespace ob::overlap
