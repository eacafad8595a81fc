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

/// Decides how long to poll before sleeping. Doubles after a poll that paid off, halves after one that did not, so
/// that a stream which waits for long computations hardly spins; never spins on a single core, where the peer needs
/// it.   Threads: any
class Spin {
 public:
  /// @pre longest >= 0; 0 never spins
  explicit Spin(std::chrono::nanoseconds longest) noexcept;

  /// Calls ready() until it is true or the time is up; returns what it said last.
  template <class Ready>
  bool until(Ready ready, int calls_per_look) noexcept {
    const auto budget = std::chrono::nanoseconds(budget_ns_.load(std::memory_order_relaxed));
    if (budget.count() == 0) return false;
    const Deadline end = Clock::now() + budget;
    do {
      for (int i = 0; i < calls_per_look; ++i) {
        if (ready()) {
          learn(true);
          return true;
        }
        relax();
      }
    } while (Clock::now() < end);
    learn(false);
    return false;
  }

 private:
  void learn(bool paid_off) noexcept;

  const long longest_ns_;
  std::atomic<long> budget_ns_;
};

/// Cores this process may use. Cost: a system call
int usable_cores() noexcept;

}  // namespace ob::transport::detail
