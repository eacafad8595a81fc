#pragma once
// The distribution of column blocks over devices, all of them at once or slab after slab.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "algorithms/factor/indices.hpp"

namespace ob::algorithms {

/// Blocks [first, end), which are on the devices at the same time.
struct Slab {
  BlockIndex first;
  BlockIndex end;
  bool contains(BlockIndex block) const { return block >= first && block < end; }
};

/// A 1-D block-cyclic distribution. Blocks go to the devices in turn or, if devices have shares, in
/// proportion to the shares, evenly spread. On its device a block lies behind the earlier blocks of
/// its slab.
/// Units:  columns (or rows, where rows are distributed)
/// Source: algorithms 1: up to 8 devices no 2-D layout gains more than a factor of 1.75 in volume,
///         and all of them put the panel on several devices
class ColumnDistribution {
 public:
  /// Blocks go to the devices in turn.
  /// @param width of a block; the last block may be narrower
  /// @pre width > 0
  ColumnDistribution(std::uint64_t length, std::uint64_t width, std::size_t devices)
      : ColumnDistribution(length, width, std::vector<double>(devices, 1.0)) {}
  /// Each block goes to the device that is furthest behind its share (Webster's method), the first
  /// of several such devices. With equal shares this is in turn.
  /// @param shares of each device, > 0
  ColumnDistribution(std::uint64_t length, std::uint64_t width, std::span<const double> shares);

  std::uint64_t length() const { return length_; }
  std::uint64_t width() const { return width_; }
  std::size_t devices() const { return devices_; }
  /// The index behind the last block.
  BlockIndex end_block() const { return BlockIndex(owners_.size()); }
  Rank owner(BlockIndex block) const { return owners_[block.value()]; }
  GlobalIndex first(BlockIndex block) const {
    return GlobalIndex(std::min(length_, block.value() * width_));
  }
  GlobalIndex end(BlockIndex block) const { return first(block + 1); }
  std::uint64_t count(BlockIndex block) const { return end(block) - first(block); }
  /// The place of a block on its owner.
  LocalIndex local_first(BlockIndex block) const { return local_firsts_[block.value()]; }
  /// The number of columns that a device has of a slab.
  std::uint64_t local_count(Rank rank, SlabIndex slab) const;
  /// The first block of a device that is not before `block`; end_block() if there is none.
  BlockIndex next_of(Rank rank, BlockIndex block) const;

  SlabIndex end_slab() const { return SlabIndex(slabs_.size()); }
  std::size_t slabs() const { return slabs_.size(); }
  const Slab& slab(SlabIndex index) const { return slabs_[index.value()]; }

  /// True if a device has room for this many columns of a slab that begins with block `first`.
  using Fits = std::function<bool(BlockIndex first, Rank rank, std::uint64_t columns)>;
  /// Cuts the blocks into as few slabs as there is room for. The first slab is the smallest: the
  /// later a slab begins, the more panels must be reloaded for it.
  /// @returns false if there is no room for a single block
  bool cut(const Fits& fits);

 private:
  void place(const Slab& slab);
  BlockIndex earliest_first(BlockIndex end, const Fits& fits) const;

  std::uint64_t length_;
  std::uint64_t width_;
  std::size_t devices_;
  std::vector<Rank> owners_;
  std::vector<LocalIndex> local_firsts_;
  std::vector<Slab> slabs_;
};

}  // namespace ob::algorithms
