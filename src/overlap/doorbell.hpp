#pragma once
// A counter that a thread waits for with a time limit (futex).

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>

namespace ob::overlap {

/// std::atomic::wait has no time limit, and a condition variable needs a mutex.
/// Threads: any may ring, and one at a time waits.
class Doorbell {
 public:
  std::uint32_t rings() const noexcept { return rings_.load(std::memory_order_acquire); }

  void ring() noexcept {
    const std::uint32_t before = rings_.fetch_add(1, std::memory_order_seq_cst);
    // The first ring wakes the sleeper. Later ones, before it runs, need no system call.
    if (sleeper_.load(std::memory_order_seq_cst) == before)
      ::syscall(SYS_futex, &rings_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

  /// Returns after a ring since rings() returned `seen`, after `limit_ns`, or for no reason.
  void wait(std::uint32_t seen, std::int64_t limit_ns) noexcept {
    sleeper_.store(seen, std::memory_order_seq_cst);
    const timespec limit{time_t(limit_ns / 1'000'000'000), long(limit_ns % 1'000'000'000)};
    if (rings_.load(std::memory_order_seq_cst) == seen)
      ::syscall(SYS_futex, &rings_, FUTEX_WAIT_PRIVATE, seen, &limit, nullptr, 0);
    sleeper_.store(kNobody, std::memory_order_relaxed);
  }

 private:
  static constexpr std::int64_t kNobody = -1;
  std::atomic<std::uint32_t> rings_{0};
  std::atomic<std::int64_t> sleeper_{kNobody};  ///< the number of rings that the sleeper has seen
  static_assert(sizeof(std::atomic<std::uint32_t>) == 4, "a futex is a 32-bit word");
};

}  // namespace ob::overlap
