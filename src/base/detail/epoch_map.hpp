#pragma once
// A map from address ranges to epochs.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

#include "base/address_range.hpp"

namespace ob::detail {

/// Holds ranges that do not overlap, and merges neighbours of equal epoch.
/// Threads: one at a time
class EpochMap {
 public:
  using Epoch = std::uint64_t;

  void clear() noexcept { parts_.clear(); }
  std::size_t size() const noexcept { return parts_.size(); }

  /// Removes the epochs of the range.
  void erase(AddressRange range) {
    if (range.begin >= range.end) return;
    split(range.begin);
    split(range.end);
    parts_.erase(parts_.lower_bound(range.begin), parts_.lower_bound(range.end));
  }

  void set(AddressRange range, Epoch epoch) {
    if (range.begin >= range.end) return;
    erase(range);
    auto at = parts_.emplace(range.begin, Part{range.end, epoch}).first;
    if (at != parts_.begin()) {
      const auto before = std::prev(at);
      if (joins(before, at)) at = join(before, at);
    }
    const auto after = std::next(at);
    if (after != parts_.end() && joins(at, after)) join(at, after);
  }

  /// Calls visit(AddressRange, Epoch) for the parts of the range that have an epoch, in order.
  template <class Visit>
  void visit(AddressRange range, Visit visit) const {
    auto at = parts_.upper_bound(range.begin);
    if (at != parts_.begin() && std::prev(at)->second.end > range.begin) --at;
    for (; at != parts_.end() && at->first < range.end; ++at) {
      visit(AddressRange{std::max(at->first, range.begin), std::min(at->second.end, range.end)},
            at->second.epoch);
    }
  }

 private:
  struct Part {
    std::uintptr_t end;
    Epoch epoch;
  };
  using Parts = std::map<std::uintptr_t, Part>;

  // Splits the part that contains the address, so that a part begins there.
  void split(std::uintptr_t address) {
    auto at = parts_.lower_bound(address);
    if (at == parts_.begin()) return;
    --at;
    if (at->second.end <= address) return;
    const Part upper = at->second;
    parts_.emplace(address, upper);
    at->second.end = address;
  }

  static bool joins(Parts::iterator low, Parts::iterator high) {
    return low->second.end == high->first && low->second.epoch == high->second.epoch;
  }
  Parts::iterator join(Parts::iterator low, Parts::iterator high) {
    low->second.end = high->second.end;
    parts_.erase(high);
    return low;
  }

  Parts parts_;
};

}  // namespace ob::detail
