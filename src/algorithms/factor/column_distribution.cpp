#include "algorithms/factor/column_distribution.hpp"

namespace ob::algorithms {

ColumnDistribution::ColumnDistribution(std::uint64_t length, std::uint64_t width,
                                       std::span<const double> shares)
    : length_(length),
      width_(width),
      devices_(shares.size()),
      owners_((length + width - 1) / width),
      local_firsts_(owners_.size()),
      slabs_{{BlockIndex(0), BlockIndex(owners_.size())}} {
  std::vector<double> given(devices_);
  for (Rank& owner : owners_) {
    const auto after = [&](std::size_t device) { return (given[device] + 0.5) / shares[device]; };
    std::size_t chosen = 0;
    for (std::size_t device = 1; device < devices_; ++device) {
      if (after(device) < after(chosen)) chosen = device;
    }
    ++given[chosen];
    owner = Rank(chosen);
  }
  place(slabs_.front());
}

void ColumnDistribution::place(const Slab& slab) {
  std::vector<std::uint64_t> columns(devices_);
  for (BlockIndex block = slab.first; block < slab.end; ++block) {
    std::uint64_t& placed = columns[owner(block).value()];
    local_firsts_[block.value()] = LocalIndex(placed);
    placed += count(block);
  }
}

std::uint64_t ColumnDistribution::local_count(Rank rank, SlabIndex index) const {
  const Slab& slab = slabs_[index.value()];
  for (BlockIndex block = slab.end; block > slab.first;) {
    block = block - 1;
    if (owner(block) == rank) return local_first(block).value() + count(block);
  }
  return 0;
}

BlockIndex ColumnDistribution::next_of(Rank rank, BlockIndex block) const {
  while (block < end_block() && owner(block) != rank) ++block;
  return std::min(block, end_block());
}

// The first block of the largest slab that ends at `end`; `end` if no block fits.
BlockIndex ColumnDistribution::earliest_first(BlockIndex end, const Fits& fits) const {
  std::vector<std::uint64_t> columns(devices_);
  BlockIndex first = end;
  while (first > BlockIndex(0)) {
    const BlockIndex candidate = first - 1;
    columns[owner(candidate).value()] += count(candidate);
    // a slab that begins earlier may be higher, so all devices are asked
    for (Rank rank; rank.value() < devices_; ++rank) {
      const std::uint64_t own = columns[rank.value()];
      if (own > 0 && !fits(candidate, rank, own)) return first;
    }
    first = candidate;
  }
  return first;
}

bool ColumnDistribution::cut(const Fits& fits) {
  if (owners_.empty()) return true;
  std::vector<Slab> slabs;
  for (BlockIndex end = end_block(); end > BlockIndex(0); end = slabs.back().first) {
    const BlockIndex first = earliest_first(end, fits);
    if (first == end) return false;
    slabs.push_back({first, end});
  }
  std::reverse(slabs.begin(), slabs.end());
  slabs_ = std::move(slabs);
  for (const Slab& slab : slabs_) place(slab);
  return true;
}

}  // namespace ob::algorithms
