#pragma once
// Column blocks dealt out to devices in turn.

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ob::algorithms {

/// 1-D block-cyclic: block k lies on device k mod devices, behind the blocks that it already has.
/// Units: columns (or rows, where rows are dealt out)
/// Source: algorithms 1: up to 8 devices no 2-D layout gains more than a factor of 1.75 in volume,
///         and all of them put the panel on several devices
struct CyclicColumns {
  std::uint64_t length = 0;
  std::uint64_t width = 1;  ///< of a block, > 0; the last one may be narrower
  std::size_t devices = 1;

  std::size_t blocks() const { return static_cast<std::size_t>((length + width - 1) / width); }
  std::size_t owner(std::size_t block) const { return block % devices; }
  std::uint64_t first(std::size_t block) const { return std::min(length, block * width); }
  std::uint64_t end(std::size_t block) const { return first(block + 1); }
  std::uint64_t count(std::size_t block) const { return end(block) - first(block); }
  /// Where a block begins at its owner.
  std::uint64_t local_first(std::size_t block) const { return block / devices * width; }
  /// What a device has.
  std::uint64_t local_count(std::size_t device) const {
    if (blocks() <= device) return 0;
    const std::size_t last = (blocks() - 1 - device) / devices * devices + device;
    return local_first(last) + count(last);
  }
  /// The first block of a device that is not before `block`; may be beyond the last.
  std::size_t next_of(std::size_t device, std::size_t block) const {
    return block + (device + devices - block % devices) % devices;
  }
};

}  // namespace ob::algorithms
