#pragma once
// A region cut into pieces that can be checked and sent by themselves.

#include <array>
#include <cstdint>
#include <span>

#include "base/layout.hpp"

namespace ob {

/// The parts of one chunk: a rectangle and a triangle at most.
struct ChunkParts {
  int count = 0;
  std::array<Region, 2> items{};
  std::span<const Region> span() const& noexcept {
    return {items.data(), static_cast<std::size_t>(count)};
  }
  std::span<const Region> span() const&& = delete;  // of a temporary: it would dangle
};

/// Cuts a region into runs of whole columns, or a single column into runs of rows. Every referenced
/// element is in exactly one chunk; two regions that differ only in offset and ld (an array of the
/// host, its copy on a device) are cut alike.
class Chunks {
 public:
  /// @param target_bytes about the extent of one chunk; at least one column
  Chunks(const Region& region, std::uint64_t target_bytes) noexcept;
  std::uint64_t count() const noexcept { return count_; }
  /// @pre index < count()
  ChunkParts at(std::uint64_t index) const noexcept;

 private:
  Region region_;
  bool by_rows_;
  std::uint64_t step_;
  std::uint64_t count_;
};

}  // namespace ob
