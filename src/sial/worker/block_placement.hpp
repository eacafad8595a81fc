#pragma once
// The server on which a block lies.   docs/sial/runtime.md, "Placement of blocks"

#include <cstdint>

#include "sial/exchange/message.hpp"
#include "sial/worker/geometry.hpp"

namespace ob::sial {

enum class PlacementRule : std::uint8_t {
  cyclic,  ///< the number of the block modulo the servers
  skewed,  ///< the sum of its segments modulo the servers
  hash,    ///< at random, but the same in each run
  bytes,   ///< server n has the n-th part of the array's bytes
};

/// A pure function from blocks to servers, which is the same on all ranks.
/// Memory:  refers to the geometry
/// Threads: any
class BlockPlacement {
 public:
  BlockPlacement(PlacementRule rule, const Geometry& geometry, Rank servers)
      : rule_(rule), geometry_(&geometry), servers_(servers) {}

  /// Returns the number of the server, from 0.
  Rank server_of(std::uint32_t array, std::uint64_t number) const noexcept {
    if (rule_ == PlacementRule::cyclic) return static_cast<Rank>(number % servers_);
    return by_rule(array, number);
  }

 private:
  Rank by_rule(std::uint32_t array, std::uint64_t number) const noexcept;

  PlacementRule rule_;
  const Geometry* geometry_;
  Rank servers_;
};

}  // namespace ob::sial
