#pragma once
// When a program asks a pool of accelerators for devices of its own.

#include <mutex>

namespace ob::offload {

/// Sums up the time of long local calls. A program that computes now and then must not take devices
/// from others, so the sum shrinks as time passes.
/// Threads: any   Units: seconds
class PoolDemand {
 public:
  /// So much time in calls is worth a lease.
  static constexpr double kWorthS = 1;
  /// The sum loses this part of the time that passes: calls of kWorthS within ten times as long.
  static constexpr double kFading = 0.1;

  /// Adds a local call that ended at `now_s`.
  void add(double seconds, double now_s) {
    const std::lock_guard lock(mutex_);
    sum_s_ = faded(now_s) + seconds;
    at_s_ = now_s;
  }

  /// True if the calls so far, and one of `next_s`, are worth a lease.
  bool is_worth(double next_s, double now_s) const {
    const std::lock_guard lock(mutex_);
    return faded(now_s) + next_s >= kWorthS;
  }

 private:
  double faded(double now_s) const {
    const double left_s = sum_s_ - kFading * (now_s - at_s_);
    return left_s > 0 ? left_s : 0;
  }

  mutable std::mutex mutex_;
  double sum_s_ = 0;
  double at_s_ = 0;  // of the latest call
};

}  // namespace ob::offload
