#include "overlap/broadcast.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/contract.hpp"

namespace ob::overlap {
namespace {

// A message above the eager limit takes a rendezvous of some ten us, in which 64 KiB travel at
// 1 to 4 GB/s. It also keeps pieces from getting so small that each waits for a nap of a thread.
constexpr double kMessageBytes = 64 * 1024;
constexpr std::size_t kMostPieceBytes = std::size_t{1} << 30;  // MPI counts up to 2 GiB
constexpr std::size_t kLine = 64;

}  // namespace

BroadcastWay choose_way(Broadcast asked, int ranks, std::size_t bytes) noexcept {
  OB_EXPECT(ranks >= 1);
  const auto least = int(bytes / kMostPieceBytes) + 1;
  if (ranks <= 2 && asked == Broadcast::automatic) return {Broadcast::tree, least};
  const double size = double(bytes);
  const double best = std::sqrt(std::max(0, ranks - 2) * size / kMessageBytes);
  const int pieces = std::clamp(int(best), least, std::max(least, 64));
  const double ring = (ranks - 2 + pieces) * (kMessageBytes + size / pieces);
  const double tree = std::bit_width(unsigned(ranks - 1)) * (kMessageBytes + size);
  const bool by_ring = asked == Broadcast::automatic ? ring < tree : asked == Broadcast::ring;
  return by_ring ? BroadcastWay{Broadcast::ring, pieces} : BroadcastWay{Broadcast::tree, least};
}

BroadcastLinks links_of(Broadcast kind, int ranks, int owner, int rank) {
  OB_EXPECT(kind != Broadcast::automatic && owner >= 0 && owner < ranks);
  const int place = (rank - owner + ranks) % ranks;  // counted from the owner
  const auto rank_at = [&](int at) { return (at + owner) % ranks; };
  BroadcastLinks links;
  if (kind == Broadcast::ring) {
    if (place > 0) links.parent = rank_at(place - 1);
    if (place + 1 < ranks) links.children.push_back(rank_at(place + 1));
    return links;
  }
  if (place > 0) links.parent = rank_at(place & (place - 1));
  // A place has the places below it that differ in a bit below its lowest one.
  const int lowest = place > 0 ? place & -place : int(std::bit_ceil(unsigned(ranks)));
  for (int step = lowest / 2; step > 0; step /= 2)  // the largest subtree first
    if (place + step < ranks) links.children.push_back(rank_at(place + step));
  return links;
}

std::size_t piece_begin(std::size_t bytes, int pieces, int piece) noexcept {
  const std::size_t lines = (bytes + kLine - 1) / kLine;
  return std::min(bytes, lines * std::size_t(piece) / std::size_t(pieces) * kLine);
}

}  // namespace ob::overlap
