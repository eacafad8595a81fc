#include "policy/rate_model.hpp"

#include <algorithm>

namespace ob::policy {
namespace {

constexpr double kBlend = 0.3;  // the weight of a new run
constexpr int kNear = 3;        // powers of two to a size that tells about another one
// The usual distance of a warm run from the middle of its like, on a machine with neighbours: one
// run in ten is further away (docs/decision.md, "What is measured"). A run that is slower by more
// had other reasons than the library.
constexpr double kErrorOfOne = 1.25;
constexpr double kErrorOfMany = 1.1;
constexpr std::uint8_t kMany = 3;
// Rates without a shipped curve change with the size.
constexpr double kErrorOfFlatRate = 2;

}  // namespace

void RateModel::count(int bucket, std::uint8_t most) noexcept {
  const std::uint8_t runs = runs_[bucket].load(std::memory_order_relaxed);
  if (runs < most) runs_[bucket].store(runs + 1, std::memory_order_relaxed);
}

void RateModel::observe(double work_flop, double seconds, const Rate& shipped) noexcept {
  if (!(work_flop > 0) || !(seconds > 0)) return;
  if (!begun_.exchange(true, std::memory_order_relaxed)) return;
  const double seen = work_flop / seconds;
  const Rate expected = at(work_flop, shipped);
  const bool is_slow = expected.flop_per_s > 0 && seen * kErrorOfOne < expected.flop_per_s;
  const double shipped_rate = shipped.flop_per_s > 0 ? shipped.flop_per_s : 1;
  double ratio = seen / shipped_rate;
  if (is_slow) {
    const unsigned slow = slow_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (slow > 1) ratio = std::max(ratio, best_of_slow_.load(std::memory_order_relaxed));
    best_of_slow_.store(ratio, std::memory_order_relaxed);
    if (slow < confirmations_) return;
  }
  slow_.store(0, std::memory_order_relaxed);
  const int bucket = SizeTable::bucket(work_flop);
  // Better figures replace those of colder runs.
  const bool replaces = !exact(bucket).known() || seen > kErrorOfOne * expected.flop_per_s;
  rates_.blend(work_flop, ratio * shipped_rate, replaces ? 1 : kBlend);
  ratios_.blend(work_flop, ratio, replaces ? 1 : kBlend);
  count(bucket, kMany);
}

void RateModel::suppose(double work_flop, double flop_per_s, const Rate& shipped) noexcept {
  if (!(work_flop > 0) || !(flop_per_s > 0) || rates_.in_bucket(work_flop) > 0) return;
  const double shipped_rate = shipped.flop_per_s > 0 ? shipped.flop_per_s : 1;
  rates_.blend(work_flop, flop_per_s, 1);
  ratios_.blend(work_flop, flop_per_s / shipped_rate, 1);
  runs_[SizeTable::bucket(work_flop)].store(kMany, std::memory_order_relaxed);
}

RateModel::Correction RateModel::exact(int bucket) const noexcept {
  const double ratio = ratios_.in_bucket(SizeTable::middle(bucket));
  const bool many = runs_[bucket].load(std::memory_order_relaxed) >= kMany;
  return {ratio, many ? kErrorOfMany : kErrorOfOne};
}

// Between two known sizes, the ratio is interpolated linearly over the powers of two.
RateModel::Correction RateModel::near(int bucket) const noexcept {
  if (const Correction here = exact(bucket); here.known()) return here;
  int below = bucket - 1;
  int above = bucket + 1;
  while (below >= bucket - kNear && below >= 0 && !exact(below).known()) --below;
  while (above <= bucket + kNear && above < SizeTable::kBuckets && !exact(above).known()) ++above;
  const bool has_below = below >= std::max(0, bucket - kNear);
  const bool has_above = above <= std::min(SizeTable::kBuckets - 1, bucket + kNear);
  if (!has_below && !has_above) return {};
  const double low = exact(has_below ? below : above).ratio;
  const double high = exact(has_above ? above : below).ratio;
  const double share =
      has_below && has_above ? static_cast<double>(bucket - below) / (above - below) : 0;
  return {low + (high - low) * share, kErrorOfOne};
}

// The nearest known size, of any distance.
RateModel::Correction RateModel::far(int bucket) const noexcept {
  for (int distance = 1; distance < SizeTable::kBuckets; ++distance) {
    for (const int at : {bucket - distance, bucket + distance}) {
      if (at < 0 || at >= SizeTable::kBuckets) continue;
      if (const Correction found = exact(at); found.known()) return found;
    }
  }
  return {};
}

Rate RateModel::at(double work_flop, const Rate& shipped) const noexcept {
  if (!(work_flop > 0)) return {};
  const int bucket = SizeTable::bucket(work_flop);
  const bool is_shipped = shipped.flop_per_s > 0;
  const double base = is_shipped ? shipped.flop_per_s : 1;
  if (const Correction found = near(bucket); found.known()) {
    const bool is_exact = ratios_.in_bucket(work_flop) > 0;
    const double error = is_exact || is_shipped ? found.error : kErrorOfFlatRate;
    return {base * found.ratio, error};
  }
  const Correction found = far(bucket);
  if (!is_shipped) return found.known() ? Rate{found.ratio, 2 * kErrorOfFlatRate} : Rate{};
  if (!found.known()) return shipped;
  // As far from the shipped rate as the shipped rate may be wrong; the rest is another size's own.
  return {base * std::clamp(found.ratio, 1 / shipped.error, shipped.error), shipped.error};
}

}  // namespace ob::policy
