#pragma once
// Divides guided pardos over the workers. The first server has one.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "sial/exchange/chunk.hpp"

namespace ob::sial {

/// Gives each worker that asks a part of the iterations that nobody has yet: 1 / (2 x workers) of
/// them, and at least as many as are worth a request.
///
/// It does not know the where clauses. The workers count survivors ahead and tell it how far they
/// have come, so that nobody counts twice and nobody has to count to the end before the first
/// iteration begins. Only iterations that were counted are divided.
/// Memory:  a few places per pardo that is being executed
/// Threads: owner only
class ChunkCoordinator {
 public:
  explicit ChunkCoordinator(Rank workers) : workers_(workers) {}

  /// Returns the iterations that the worker is to compute next.
  /// Returns nothing if another worker executes another pardo in this place; first() says which.
  std::optional<Chunk> next(const ChunkRequest& request);
  /// Returns the request with which a worker began the pardo in the place of this one.
  ChunkRequest first(const ChunkRequest& request) const;
  /// Returns the number of pardos that some workers have not finished yet.
  std::size_t open() const noexcept { return pardos_.size(); }

 private:
  struct Pardo {
    ChunkRequest first;
    std::uint64_t given = 0;        // survivors that a worker has
    std::deque<LoopPlace> counted;  // in ascending order; the first is not behind `given`
    Rank ended = 0;                 // workers that know that none are left
  };

  static void learn(Pardo& pardo, const LoopPlace& counted);
  Chunk give(Pardo& pardo, const ChunkRequest& request) const;

  const Rank workers_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Pardo> pardos_;  // by epoch and number
};

}  // namespace ob::sial
