#include "algorithms/factor/column_distribution.hpp"

namespace ob::algorithms {

ColumnDistribution::ColumnDistribution(std::uint64_t length, std::uint64_t width,
                                       std::span<const double> shares)
    : length_(length),
      width_(width),
      devices_(shares.size()),
      owners_((length + width - 1) / width),
      local_firsts_(owners_.size()),
      slabs_{{0, owners_.size()}} {
  std::vector<double> had(devices_);
  for (std::size_t& owner : owners_) {
    const auto after = [&](std::size_t device) { return (had[device] + 0.5) / shares[device]; };
    owner = 0;
    for (std::size_t device = 1; device < devices_; ++device) {
      if (after(device) < after(owner)) owner = device;
    }
    ++had[owner];
  }
  place(slabs_.front());
}

void ColumnDistribution::place(const Slab& slab) {
  std::vector<std::uint64_t> had(devices_);
  for (std::size_t block = slab.first; block < slab.end; ++block) {
    local_firsts_[block] = had[owners_[block]];
    had[owners_[block]] += count(block);
  }
}

std::uint64_t ColumnDistribution::local_count(std::size_t device, std::size_t slab) const {
  for (std::size_t block = slabs_[slab].end; block-- > slabs_[slab].first;) {
    if (owners_[block] == device) return local_firsts_[block] + count(block);
  }
  return 0;
}

std::size_t ColumnDistribution::next_of(std::size_t device, std::size_t block) const {
  while (block < blocks() && owners_[block] != device) ++block;
  return std::min(block, blocks());
}

bool ColumnDistribution::cut(const Fits& fits) {
  if (blocks() == 0) return true;
  std::vector<Slab> slabs;
  for (std::size_t end = blocks(); end > 0; end = slabs.back().first) {
    std::vector<std::uint64_t> had(devices_);
    std::size_t first = end;
    while (first > 0) {
      had[owners_[first - 1]] += count(first - 1);
      // a slab that begins earlier may be higher: all devices are asked
      bool all = true;
      for (std::size_t device = 0; all && device < devices_; ++device) {
        all = had[device] == 0 || fits(first - 1, device, had[device]);
      }
      if (!all) break;
      --first;
    }
    if (first == end) return false;
    slabs.push_back({first, end});
  }
  std::reverse(slabs.begin(), slabs.end());
  slabs_ = std::move(slabs);
  for (const Slab& slab : slabs_) place(slab);
  return true;
}

}  // namespace ob::algorithms
