#include "offload/device_trials.hpp"

#include <algorithm>

#include "algorithms/panels/pipeline_model.hpp"

namespace ob::offload {
namespace {

// The runs of each number of devices. The first one sends operands to devices that lack them.
constexpr unsigned kRuns = 2;
// A number of devices is not tried if its predicted time is longer than this times the best. On a
// busy machine links seem slower than they are by the same factor.
constexpr double kNearlyAsGood = 1.5;

}  // namespace

void DeviceTrials::begin(std::span<const double> predicted_s, std::size_t chosen) {
  candidates_.clear();
  candidates_.push_back({.devices = chosen});
  const double enough = kNearlyAsGood * predicted_s[chosen - 1];
  const auto consider = [&](std::size_t devices) {
    if (predicted_s[devices - 1] <= enough) candidates_.push_back({.devices = devices});
  };
  const std::size_t most = predicted_s.size();
  for (std::size_t devices = 2 * chosen; devices < most; devices *= 2) consider(devices);
  if (chosen < most) consider(most);
  for (std::size_t devices = chosen / 2; devices >= 1; devices /= 2) consider(devices);
}

std::size_t DeviceTrials::next() const noexcept {
  const Candidate* best = &candidates_.front();
  for (const Candidate& one : candidates_) {
    if (one.runs < kRuns) return one.devices;
    const bool is_better = one.least_s < algorithms::kClearly * candidates_.front().least_s;
    if (is_better && one.least_s < best->least_s) best = &one;
  }
  return best->devices;
}

void DeviceTrials::took(std::size_t devices, double seconds) noexcept {
  for (Candidate& one : candidates_) {
    if (one.devices != devices) continue;
    one.least_s = one.runs == 0 ? seconds : std::min(one.least_s, seconds);
    ++one.runs;
  }
}

}  // namespace ob::offload
