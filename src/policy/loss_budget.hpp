#pragma once
// The time that a process may lose by being served.

#include <atomic>

namespace ob::policy {

/// The sum of all time that a program loses: by trials, by calls that took longer on the
/// accelerator than they would have taken here, and by connecting and measuring. Each of these is
/// begun only if its expected cost fits into what is left, so the loss stays below
/// kStartS + kShare * (time spent in calls), apart from predictions that are wrong beyond their
/// error, and from the prices of long loops (History), which later calls pay back.
/// Units: seconds   Threads: any
class LossBudget {
 public:
  static constexpr double kShare = 0.01;
  static constexpr double kStartS = 2e-3;

  void spend(double seconds) noexcept { spent_s_.fetch_add(seconds, std::memory_order_relaxed); }
  /// Adds the time of connecting, measuring, and looking for libraries.
  void set_up(double seconds) noexcept { set_up_s_.fetch_add(seconds, std::memory_order_relaxed); }
  /// Adds the time that a call or a trial lost; below 0: the part of a price that was paid back.
  void lose(double seconds) noexcept { by_calls_s_.fetch_add(seconds, std::memory_order_relaxed); }

  double spent_s() const noexcept { return spent_s_.load(std::memory_order_relaxed); }
  double lost_s() const noexcept {
    return by_calls_s() + set_up_s_.load(std::memory_order_relaxed);
  }
  /// Negative if the program has lost more than it may.
  double left_s() const noexcept { return kStartS + kShare * spent_s() - lost_s(); }
  /// True if calls alone have lost more than the program may lose. Predictions are then worse than
  /// their errors say, and no call changes sides because of them.
  bool is_overdrawn() const noexcept { return kStartS + kShare * spent_s() < by_calls_s(); }

 private:
  double by_calls_s() const noexcept { return by_calls_s_.load(std::memory_order_relaxed); }

  std::atomic<double> spent_s_{0};
  std::atomic<double> set_up_s_{0};
  std::atomic<double> by_calls_s_{0};
};

}  // namespace ob::policy
