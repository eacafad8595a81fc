#pragma once
// Chunks of a region: pieces that are checked and sent independently.

#include <array>
#include <cstdint>
#include <span>

#include "base/layout.hpp"

namespace ob {

/// The parts of one chunk: at most a rectangle and a triangle.
struct ChunkParts {
  int count = 0;
  std::array<Region, 2> items{};
  std::span<const Region> span() const& noexcept {
    return {items.data(), static_cast<std::size_t>(count)};
  }
  std::span<const Region> span() const&& = delete;  // a temporary's span would dangle
};

/// Cuts a region into runs of whole columns, or a single column into runs of rows. Every referenced
/// element is in exactly one chunk. Regions that differ only in offset and ld, as a host array and
/// its copy on a device do, are cut alike.
class Chunks {
 public:
  /// @param target_bytes approximate extent of a chunk; a chunk has at least one column
  Chunks(const Region& region, std::uint64_t target_bytes) noexcept;
  std::uint64_t count() const noexcept { return count_; }
  /// Returns the parts of one chunk.
  /// @pre index < count()
  ChunkParts at(std::uint64_t index) const noexcept;

 private:
  Region region_;
  bool by_rows_;
  std::uint64_t step_;
  std::uint64_t count_;
};

}  // namespace ob
