#include "device/learnt_times.hpp"

#include <algorithm>
#include <cmath>

namespace ob {
namespace {

constexpr double kFarthest = 8;
// The weight of a time that is slower than expected. A faster time counts at once: a single slow
// run (the first call, a busy machine) says little about the possible speed.
constexpr double kFresh = 0.25;

}  // namespace

void LearntTimes::observe(std::uint64_t kind, double flop, double seconds) {
  if (!(flop >= 1) || !std::isfinite(flop)) return;
  const double rate = seconds / flop;
  const std::lock_guard lock(mutex_);
  if (seconds < kShortestSeconds) {
    forget(kind, std::ilogb(flop));
    return;
  }
  double& known = seen_[kind].try_emplace(std::ilogb(flop), rate).first->second;
  known = rate < known ? rate : known + kFresh * (rate - known);
}

// A slow first time must not be remembered forever.
void LearntTimes::forget(std::uint64_t kind, int exponent) {
  const auto of_kind = seen_.find(kind);
  if (of_kind == seen_.end()) return;
  of_kind->second.erase(exponent);
  if (of_kind->second.empty()) seen_.erase(of_kind);
}

double LearntTimes::predict(std::uint64_t kind, double flop) const {
  if (!(flop >= 1) || !std::isfinite(flop)) return 0;
  const std::lock_guard lock(mutex_);
  const auto of_kind = seen_.find(kind);
  if (of_kind == seen_.end()) return 0;
  const SecondsPerFlop& sizes = of_kind->second;
  const auto larger = sizes.upper_bound(std::ilogb(flop));
  if (larger == sizes.begin()) return larger->second * flop;
  const auto [exponent, rate] = *std::prev(larger);
  return rate * std::min(flop, kFarthest * std::ldexp(1.0, exponent));
}

}  // namespace ob
