#include "policy/size_table.hpp"

#include <algorithm>
#include <bit>

#include "policy/long_run.hpp"

namespace ob::policy {
namespace {

constexpr double kBlend = 0.3;  // weight of a new observation
constexpr std::uint8_t kEnough = 3;
constexpr int kNeighbours = 3;  // buckets are factors of two
constexpr int kPlateau = 27;    // 134 Mflop: a dgemm of 400

}  // namespace

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

double SizeTable::at(double work_flop) const noexcept {
  if (!(work_flop > 0)) return 0;
  const int here = bucket(work_flop);
  const auto nearest = [&](int step) {
    for (int i = 1; i <= kNeighbours; ++i) {
      const int at = here + step * i;
      if (at < 0 || at >= kBuckets) break;
      if (values_[at].load(std::memory_order_relaxed) > 0) return at;
    }
    return -1;
  };
  if (const double exact = in_bucket(work_flop); exact > 0) return exact;
  const int below = nearest(-1);
  const int above = nearest(+1);
  if (below < 0 && above < 0) return beyond(here);
  if (below < 0 || above < 0) return values_[std::max(below, above)];
  const double low = values_[below];
  const double high = values_[above];
  const double share = static_cast<double>(here - below) / (above - below);
  return low + (high - low) * share;
}

// Returns a rate of large work, which hardly changes with the size; 0 if none is known.
double SizeTable::beyond(int bucket) const noexcept {
  for (int at = bucket - 1; at >= kPlateau; --at) {
    if (const double value = values_[at].load(std::memory_order_relaxed); value > 0) return value;
  }
  return 0;
}

void RateTable::observe(double work_flop, double seconds) noexcept {
  if (!(work_flop > 0) || !(seconds > 0)) return;
  const double seen = work_flop / seconds;
  const int at = SizeTable::bucket(work_flop);
  const std::uint8_t count = samples_[at].load(std::memory_order_relaxed);
  if (count >= kEnough) return rates_.blend(work_flop, seen, kBlend);
  const double best = std::max(seen, best_[at].load(std::memory_order_relaxed));
  best_[at].store(best, std::memory_order_relaxed);
  const std::uint8_t now = seconds < kLongRunS ? static_cast<std::uint8_t>(count + 1) : kEnough;
  samples_[at].store(now, std::memory_order_relaxed);
  if (now >= kEnough) rates_.blend(work_flop, best, 1);
}

void RateTable::suppose(double work_flop, double rate) noexcept {
  if (rates_.in_bucket(work_flop) > 0) return;
  rates_.blend(work_flop, rate, 1);
}

}  // namespace ob::policy
