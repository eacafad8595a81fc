#include "backend/null/pace.hpp"

#include <algorithm>
#include <thread>

namespace ob::null {
namespace {

// About what a sleep overshoots by (timer slack of Linux, 50 us): shorter ones would only add
// error.
constexpr std::chrono::microseconds kShortestSleep{50};
// A device that claims to be busy longer than this was asked for something absurd.
constexpr double kLongestSeconds = 1e6;

}  // namespace

void Pace::spend(double flops) {
  using Clock = std::chrono::steady_clock;
  if (flops_per_second_ <= 0) return;
  const auto duration = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::clamp(seconds(flops), 0.0, kLongestSeconds)));
  busy_until_ = std::max(busy_until_, Clock::now()) + duration;
  if (busy_until_ - Clock::now() > kShortestSleep) std::this_thread::sleep_until(busy_until_);
}

}  // namespace ob::null
