#pragma once
// Regions cut into pieces that a staging block can hold.

#include <cstdint>
#include <functional>

#include "base/layout.hpp"
#include "base/status.hpp"

namespace ob::daemon {

/// The host memory that elements pass through on their way to or from a device. StagedWriter and
/// StagedReader cut equal shapes into equal pieces: a message inside the daemon needs this. From
/// about this size on, network and device overlap (docs/backends.md).
inline constexpr std::uint64_t kStagingBlockBytes = std::uint64_t{2} << 20;

/// Cuts a region into pieces of at most `most_bytes`, each a region whose elements follow one
/// another in the packed order of the whole, and calls `take` with them in that order until it
/// fails.
/// @pre an element has at most most_bytes
Status for_each_piece(const Region& region, std::uint64_t most_bytes,
                      const std::function<Status(const Region&)>& take);

}  // namespace ob::daemon
