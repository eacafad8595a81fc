#include "backend/null/pace.hpp"

#include <algorithm>
#include <thread>

namespace ob::null {
namespace {

// A sleep ends about this late (timer slack of Linux, 50 us). Shorter sleeps would only add error.
constexpr std::chrono::microseconds kShortestSleep{50};
// A command that arrives within this time after the last computation counts as back-to-back: this
// thread woke up late, which is not the device's time.
constexpr std::chrono::microseconds kLate{300};
// The upper limit of a single computation: a longer one comes from an absurd request.
constexpr double kLongestSeconds = 1e6;

}  // namespace

void Pace::spend(double flops) {
  using Clock = std::chrono::steady_clock;
  if (flops_per_second_ <= 0) return;
  const auto duration = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::clamp(seconds(flops), 0.0, kLongestSeconds)));
  const auto now = Clock::now();
  busy_until_ = (now - busy_until_ < kLate ? busy_until_ : now) + duration;
  if (busy_until_ - Clock::now() > kShortestSleep) std::this_thread::sleep_until(busy_until_);
}

}  // namespace ob::null
