#pragma once
// Simulates the time of computations.

#include <chrono>

namespace ob::null {

/// Keeps the timeline of a device that does one thing at a time, at a given rate, without using the
/// processor.
/// Threads: one at a time
class Pace {
 public:
  /// Rate 0: everything takes no time.
  explicit Pace(double rate_gflops) : flops_per_second_(rate_gflops * 1e9) {}

  double seconds(double flops) const noexcept {
    return flops_per_second_ > 0 ? flops / flops_per_second_ : 0;
  }

  /// Returns when the device would have finished `flops` more. A time that is too short for a sleep
  /// is added to the next sleep.
  void spend(double flops);

 private:
  const double flops_per_second_;
  std::chrono::steady_clock::time_point busy_until_{};
};

}  // namespace ob::null
