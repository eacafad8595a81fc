#pragma once
// Column blocks distributed out to devices, all of them at once or slab after slab.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace ob::algorithms {

/// Blocks that are on the devices at the same time.
struct Slab {
  std::size_t first = 0;
  std::size_t end = 0;
  bool contains(std::size_t block) const { return block >= first && block < end; }
};

/// 1-D block-cyclic: blocks go to the devices in turn or, where devices have shares, as often as
/// these say, evenly spread. On its device a block lies behind those of its slab that are there.
/// Units: columns (or rows, where rows are distributed out)
/// Source: algorithms 1: up to 8 devices no 2-D layout gains more than a factor of 1.75 in volume,
///         and all of them put the panel on several devices
class ColumnDistribution {
 public:
  /// In turn. @param width of a block, > 0; the last one may be narrower
  ColumnDistribution(std::uint64_t length, std::uint64_t width, std::size_t devices)
      : ColumnDistribution(length, width, std::vector<double>(devices, 1.0)) {}
  /// The next block goes to the device that is furthest behind its share (Webster's method; the
  /// first of several). Equal shares: in turn.
  /// @param shares of each device, > 0
  ColumnDistribution(std::uint64_t length, std::uint64_t width, std::span<const double> shares);

  std::uint64_t length() const { return length_; }
  std::uint64_t width() const { return width_; }
  std::size_t devices() const { return devices_; }
  std::size_t blocks() const { return owners_.size(); }
  std::size_t owner(std::size_t block) const { return owners_[block]; }
  std::uint64_t first(std::size_t block) const { return std::min(length_, block * width_); }
  std::uint64_t end(std::size_t block) const { return first(block + 1); }
  std::uint64_t count(std::size_t block) const { return end(block) - first(block); }
  /// Where a block begins at its owner.
  std::uint64_t local_first(std::size_t block) const { return local_firsts_[block]; }
  /// What a device has of a slab.
  std::uint64_t local_count(std::size_t device, std::size_t slab) const;
  /// The first block of a device that is not before `block`; blocks() if there is none.
  std::size_t next_of(std::size_t device, std::size_t block) const;

  std::size_t slabs() const { return slabs_.size(); }
  const Slab& slab(std::size_t number) const { return slabs_[number]; }

  /// True if a device has room for so many columns of a slab that begins with block `first`.
  using Fits = std::function<bool(std::size_t first, std::size_t device, std::uint64_t columns)>;
  /// Cuts into as few slabs as there is room for, the first one being what is left: the later a
  /// slab begins, the more panels must be brought for it.
  /// @returns false if there is no room for a single block
  bool cut(const Fits& fits);

 private:
  void place(const Slab& slab);

  std::uint64_t length_;
  std::uint64_t width_;
  std::size_t devices_;
  std::vector<std::size_t> owners_;
  std::vector<std::uint64_t> local_firsts_;
  std::vector<Slab> slabs_;
};

}  // namespace ob::algorithms
