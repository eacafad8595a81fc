#pragma once

#include <atomic>

#include "transport/stream.hpp"

namespace ob::transport::detail {

/// Tells the core that the thread spins in a loop.
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Decides how long to poll before sleeping. A successful poll restores the longest time. A failed
/// one halves the time, down to zero, with a new trial from time to time. So polling soon stops for
/// a stream whose peer needs our core (measured: polling doubles a round trip then) or waits for
/// long computations. There is no polling on a single core.   Threads: any
class Spin {
 public:
  /// @param longest the longest time to poll; 0: never
  /// @pre longest.count() >= 0
  explicit Spin(std::chrono::nanoseconds longest) noexcept;

  /// Calls ready() until it is true or the time is up; returns its last result.
  template <class Ready>
  bool until(Ready ready, int calls_per_look) noexcept {
    const auto budget = std::chrono::nanoseconds(next_budget_ns());
    if (budget.count() == 0) return false;
    const Deadline end = Clock::now() + budget;
    do {
      for (int i = 0; i < calls_per_look; ++i) {
        if (ready()) {
          budget_ns_.store(longest_ns_, std::memory_order_relaxed);
          return true;
        }
        relax();
      }
    } while (Clock::now() < end);
    learn_failure(budget.count());
    return false;
  }

 private:
  long next_budget_ns() noexcept;
  void learn_failure(long spent_ns) noexcept;

  const long longest_ns_;
  std::atomic<long> budget_ns_;
  std::atomic<unsigned> waits_without_{0};  // waits since polling stopped
};

}  // namespace ob::transport::detail
