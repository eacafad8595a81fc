#pragma once
// Regions cut into pieces that a staging block can hold.

#include <cstdint>
#include <functional>

#include "base/layout.hpp"
#include "base/status.hpp"

namespace ob::daemon {

/// Cuts a region into pieces of at most `most_bytes`, each a region whose elements follow one
/// another in the packed order of the whole, and calls `take` with them in that order until it
/// fails.
/// @pre an element has at most most_bytes
Status for_each_piece(const Region& region, std::uint64_t most_bytes,
                      const std::function<Status(const Region&)>& take);

}  // namespace ob::daemon
