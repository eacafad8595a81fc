#include "policy/size_table.hpp"

#include <algorithm>
#include <bit>

namespace ob::policy {

int SizeTable::bucket(double work_flop) noexcept {
  const auto whole = static_cast<std::uint64_t>(std::clamp(work_flop, 1.0, 9e18));
  return std::bit_width(whole) - 1;
}

void SizeTable::blend(double work_flop, double value, double weight) noexcept {
  if (!(work_flop > 0) || !(value > 0) || !(value < 1e300)) return;
  std::atomic<double>& slot = values_[bucket(work_flop)];
  const double before = slot.load(std::memory_order_relaxed);
  slot.store(before > 0 ? before + weight * (value - before) : value, std::memory_order_relaxed);
}

double SizeTable::in_bucket(double work_flop) const noexcept {
  return work_flop > 0 ? values_[bucket(work_flop)].load(std::memory_order_relaxed) : 0;
}

}  // namespace ob::policy
