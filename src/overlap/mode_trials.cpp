#include "overlap/mode_trials.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/contract.hpp"
#include "overlap/median.hpp"

namespace ob::overlap {

ModeTrials::ModeTrials(std::vector<Mode> candidates)
    : candidates_(std::move(candidates)), times_(candidates_.size()) {
  OB_EXPECT(!candidates_.empty());
  try_all();
  if (candidates_.size() > 1) return;
  trying_ = false;
  chosen_ = candidates_.front();
}

bool ModeTrials::due() const noexcept {
  if (trying_) return iteration_ == std::int64_t(tried_.size()) * kPerMode;
  return candidates_.size() > 1 && watch_.due(iteration_);
}

void ModeTrials::try_all() {
  trying_ = true;
  second_ = false;
  iteration_ = 0;
  tried_.resize(candidates_.size());
  std::iota(tried_.begin(), tried_.end(), std::size_t{0});
  for (auto& times : times_) times.clear();
}

Mode ModeTrials::next() {
  OB_EXPECT(!due());
  if (!trying_ && candidates_.size() > 1 && iteration_ == kRetry) try_all();
  const std::int64_t now = iteration_++;
  return trying_ ? candidates_[tried_[std::size_t(now / kPerMode)]] : chosen_;
}

void ModeTrials::record(double seconds) {
  if (!trying_) return watch_.add(seconds);
  if (iteration_ == 0 || (iteration_ - 1) % kPerMode == 0) return;
  times_[tried_[std::size_t((iteration_ - 1) / kPerMode)]].push_back(seconds);
}

std::vector<double> ModeTrials::medians() const {
  if (!trying_) return {watch_.recent()};
  std::vector<double> medians;
  for (const std::vector<double>& times : times_) medians.push_back(median(times));
  return medians;
}

void ModeTrials::choose(const std::vector<double>& agreed) {
  if (!trying_) {
    OB_EXPECT(agreed.size() == 1);
    if (watch_.changed(agreed.front(), chosen_s_)) try_all();
    return;
  }
  OB_EXPECT(agreed.size() == candidates_.size());
  const auto best = std::min_element(agreed.begin(), agreed.end());
  if (!std::exchange(second_, true)) {
    tried_.clear();
    for (std::size_t i = 0; i < agreed.size(); ++i)
      if (agreed[i] <= kClose * *best) tried_.push_back(i);
    iteration_ = 0;
    if (tried_.size() > 1) return;
  }
  agreed_ = agreed;
  chosen_ = candidates_[std::size_t(best - agreed.begin())];
  chosen_s_ = *best;
  trying_ = false;
  iteration_ = 0;
  watch_.begin();
}

}  // namespace ob::overlap
