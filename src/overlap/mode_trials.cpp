#include "overlap/mode_trials.hpp"

#include <algorithm>

#include "base/contract.hpp"
#include "overlap/median.hpp"

namespace ob::overlap {

ModeTrials::ModeTrials(std::vector<Mode> candidates)
    : candidates_(std::move(candidates)), times_(candidates_.size()) {
  OB_EXPECT(!candidates_.empty());
  if (candidates_.size() > 1) return;
  trying_ = false;
  chosen_ = candidates_.front();
}

bool ModeTrials::due() const noexcept {
  return trying_ && iteration_ == std::int64_t(candidates_.size()) * kPerMode;
}

Mode ModeTrials::next() {
  OB_EXPECT(!due());
  if (!trying_ && candidates_.size() > 1 && iteration_ == kRetry) {
    trying_ = true;
    iteration_ = 0;
    for (auto& times : times_) times.clear();
  }
  const std::int64_t now = iteration_++;
  return trying_ ? candidates_[std::size_t(now / kPerMode)] : chosen_;
}

void ModeTrials::record(double seconds) {
  if (!trying_ || iteration_ == 0 || (iteration_ - 1) % kPerMode == 0) return;
  times_[std::size_t((iteration_ - 1) / kPerMode)].push_back(seconds);
}

std::vector<double> ModeTrials::medians() const {
  std::vector<double> medians;
  for (const std::vector<double>& times : times_) medians.push_back(median(times));
  return medians;
}

void ModeTrials::choose(const std::vector<double>& agreed) {
  OB_EXPECT(agreed.size() == candidates_.size());
  agreed_ = agreed;
  const auto best = std::min_element(agreed.begin(), agreed.end());
  chosen_ = candidates_[std::size_t(best - agreed.begin())];
  trying_ = false;
  iteration_ = 0;
}

}  // namespace ob::overlap
