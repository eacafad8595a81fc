#include "sial/server/chunk_coordinator.hpp"

#include <algorithm>

namespace ob::sial {
namespace {

constexpr std::size_t kMostPlaces = 64;

}  // namespace

std::optional<Chunk> ChunkCoordinator::next(const ChunkRequest& request) {
  const auto [found, added] = pardos_.try_emplace({request.epoch, request.pardo});
  Pardo& pardo = found->second;
  if (added) {
    pardo.first = request;
    pardo.counted.push_back({});
  }
  const bool same =
      pardo.first.instruction == request.instruction && pardo.first.total == request.total;
  if (!same) return std::nullopt;
  learn(pardo, request.counted);
  const Chunk chunk = give(pardo, request);
  if (chunk.empty() && ++pardo.ended == workers_) pardos_.erase(found);
  return chunk;
}

ChunkRequest ChunkCoordinator::first(const ChunkRequest& request) const {
  return pardos_.at({request.epoch, request.pardo}).first;
}

void ChunkCoordinator::learn(Pardo& pardo, const LoopPlace& counted) {
  const LoopPlace& last = pardo.counted.back();
  if (counted.raw <= last.raw) return;
  // A later place with as many survivors is a better one. More places would only save counting.
  const bool replaces = last.survivors == counted.survivors || pardo.counted.size() == kMostPlaces;
  if (replaces && pardo.counted.size() > 1) pardo.counted.pop_back();
  pardo.counted.push_back(counted);
}

Chunk ChunkCoordinator::give(Pardo& pardo, const ChunkRequest& request) const {
  const LoopPlace& last = pardo.counted.back();
  const std::uint64_t left = last.survivors - std::min(pardo.given, last.survivors);
  const bool all_counted = last.raw == request.total;
  const std::uint64_t parts = 2 * std::uint64_t{workers_};
  std::uint64_t size = std::max({(left + parts - 1) / parts, request.least, std::uint64_t{1}});
  if (all_counted) size = std::min(size, left);
  while (pardo.counted.size() > 1 && pardo.counted[1].survivors <= pardo.given) {
    pardo.counted.pop_front();
  }
  const Chunk chunk{pardo.given, pardo.given + size, pardo.counted.front(), pardo.counted.back()};
  pardo.given += size;
  return chunk;
}

}  // namespace ob::sial
