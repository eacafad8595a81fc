#include "policy/decision.hpp"

#include <algorithm>
#include <bit>

namespace ob::policy {
namespace {

constexpr double kBlend = 0.3;  // weight of a new observation
constexpr std::uint8_t kEnough = 3;
constexpr double kLongRunS = 5e-3;  // one such run is enough: warming up takes less
constexpr int kNeighbours = 3;      // buckets are factors of two
// Of what overlaps, a part as long as one panel's stages is not hidden; more panels hide more.
constexpr double kLeastPanels = 4.0;
constexpr double kCommands = 2.0;  // round trips of a call: its commands, its results

int bucket(double work_flop) noexcept {
  const auto whole = static_cast<std::uint64_t>(std::clamp(work_flop, 1.0, 9e18));
  return std::bit_width(whole) - 1;
}

}  // namespace

void RateTable::observe(double work_flop, double seconds) noexcept {
  if (!(work_flop > 0) || !(seconds > 0)) return;
  std::atomic<double>& slot = rate_[bucket(work_flop)];
  const double seen = work_flop / seconds;
  std::atomic<std::uint8_t>& samples = samples_[bucket(work_flop)];
  const double before = slot.load(std::memory_order_relaxed);
  const std::uint8_t count = samples.load(std::memory_order_relaxed);
  if (count < kEnough) {  // the best of the first
    slot.store(std::max(before, seen), std::memory_order_relaxed);
    samples.store(seconds < kLongRunS ? static_cast<std::uint8_t>(count + 1) : kEnough,
                  std::memory_order_relaxed);
    return;
  }
  slot.store(before + kBlend * (seen - before), std::memory_order_relaxed);
}

double RateTable::rate(double work_flop) const noexcept {
  if (!(work_flop > 0)) return 0;
  const int at = bucket(work_flop);
  for (int distance = 0; distance <= kNeighbours; ++distance) {
    for (const int i : {at - distance, at + distance}) {
      if (i < 0 || i >= kBuckets) continue;
      if (samples_[i].load(std::memory_order_relaxed) < kEnough) continue;
      const double rate = rate_[i].load(std::memory_order_relaxed);
      if (rate > 0) return rate;
    }
  }
  return 0;
}

Decision decide(const Work& work, double local_flop_per_s, const Remote& remote) noexcept {
  Decision decision;
  if (!remote.link.known() || !(remote.flop_per_s > 0)) return decision;
  const double stages[] = {work.bytes_to / remote.link.to_bytes_per_s,
                           work.flop / remote.flop_per_s,
                           work.bytes_from / remote.link.from_bytes_per_s};
  const double sum = stages[0] + stages[1] + stages[2];
  const double longest = std::max({stages[0], stages[1], stages[2]});
  decision.remote_s = kCommands * remote.link.round_trip_s +
                      (work.overlaps ? longest + (sum - longest) / kLeastPanels : sum);
  if (!(local_flop_per_s > 0)) {
    decision.choice = Choice::learn_local;
    return decision;
  }
  decision.local_s = work.flop / local_flop_per_s;
  if (decision.remote_s * kMargin < decision.local_s) decision.choice = Choice::remote;
  return decision;
}

}  // namespace ob::policy
