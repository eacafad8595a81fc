#pragma once

#include <atomic>

#include "transport/stream.hpp"

namespace ob::transport::detail {

/// Tells the core that this is a spinning loop.
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Decides how long to poll before sleeping. A poll that paid off restores the longest time, one
/// that did not halves it down to none at all, with a new try now and then. So a stream whose peer
/// needs our core (measured: polling doubles a round trip then) or waits for long computations soon
/// stops polling. Never polls on a single core.   Threads: any
class Spin {
 public:
  /// @pre longest >= 0; 0 never polls
  explicit Spin(std::chrono::nanoseconds longest) noexcept;

  /// Calls ready() until it is true or the time is up; returns what it said last.
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
  std::atomic<unsigned> waits_without_{0};  // waits since polling was given up
};

/// Cores this process may use. Cost: a system call
int usable_cores() noexcept;

}  // namespace ob::transport::detail
