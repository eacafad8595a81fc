#pragma once
// Time that passes as if something had been computed.

#include <chrono>

namespace ob::null {

/// Keeps the timeline of a device that does one thing at a time, at a given rate, without using the
/// processor.
/// Threads: one at a time
class Pace {
 public:
  /// 0: everything takes no time.
  explicit Pace(double rate_gflops) : flops_per_second_(rate_gflops * 1e9) {}

  double seconds(double flops) const noexcept {
    return flops_per_second_ > 0 ? flops / flops_per_second_ : 0;
  }

  /// Returns when the device would have done `flops` more. What is too short to sleep is owed and
  /// slept with the next.
  void spend(double flops);

 private:
  const double flops_per_second_;
  std::chrono::steady_clock::time_point busy_until_{};
};

}  // namespace ob::null
