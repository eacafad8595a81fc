#include "transport/shm/bell.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace ob::transport::shm {

// The _PRIVATE operations do not work here, because two processes share the word.

void futex_sleep(BellWords& words, std::uint32_t seen, Deadline until) noexcept {
  const Deadline now = Clock::now();
  if (until <= now) return;
  const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(until - now);
  timespec time = {};
  time.tv_sec = static_cast<time_t>(left.count() / 1'000'000'000);
  time.tv_nsec = static_cast<long>(left.count() % 1'000'000'000);
  (void)::syscall(SYS_futex, &words.rings, FUTEX_WAIT, seen, &time, nullptr, 0);
}

void ring_all(BellWords& words) noexcept {
  words.rings.fetch_add(1, std::memory_order_release);
  (void)::syscall(SYS_futex, &words.rings, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void ring_receivers(BellWords& theirs) noexcept {
  if (theirs.sleeping_receivers.load(std::memory_order_seq_cst) != 0) ring_all(theirs);
}

}  // namespace ob::transport::shm
