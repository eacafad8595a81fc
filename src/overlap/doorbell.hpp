#pragma once
// A counter that a thread waits for with a time limit (futex).

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>

namespace ob::overlap {

/// std::atomic::wait has no time limit, and a condition variable needs a mutex.
class Doorbell {
 public:
  std::uint32_t rings() const noexcept { return rings_.load(std::memory_order_acquire); }

  void ring() noexcept {
    rings_.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) > 0)
      ::syscall(SYS_futex, &rings_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  }

  /// Returns after a ring since rings() returned `seen`, after `limit_ns`, or for no reason.
  void wait(std::uint32_t seen, std::int64_t limit_ns) noexcept {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    const timespec limit{time_t(limit_ns / 1'000'000'000), long(limit_ns % 1'000'000'000)};
    if (rings_.load(std::memory_order_seq_cst) == seen)
      ::syscall(SYS_futex, &rings_, FUTEX_WAIT_PRIVATE, seen, &limit, nullptr, 0);
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
  }

 private:
  std::atomic<std::uint32_t> rings_{0};
  std::atomic<int> sleepers_{0};
  static_assert(sizeof(std::atomic<std::uint32_t>) == 4, "a futex is a 32-bit word");
};

}  // namespace ob::overlap
