#pragma once
// The time of a repeated action on a machine that also does other things.

#include <algorithm>
#include <cmath>
#include <limits>

namespace ob::client {

/// Keeps the two shortest times of an action. A disturbance only makes an action longer, so the
/// shortest time is the best one, and two that agree were both undisturbed.   Units: seconds
class BestTimes {
 public:
  void add(double seconds) noexcept {
    second_ = std::min(second_, std::max(best_, seconds));
    best_ = std::min(best_, seconds);
  }
  /// Infinite before the first time.
  double best() const noexcept { return best_; }
  bool agree() const noexcept { return std::isfinite(second_) && second_ <= kAgreement * best_; }

 private:
  static constexpr double kAgreement = 1.25;

  double best_ = std::numeric_limits<double>::infinity();
  double second_ = std::numeric_limits<double>::infinity();
};

}  // namespace ob::client
