#pragma once

#include <atomic>
#include <cstdint>

namespace ob::client {

/// The commands of a queue that are known to be over: those up to a sequence of its connection.
/// Threads: any
class QueueProgress {
 public:
  bool is_over(std::uint64_t sequence) const noexcept {
    return sequence <= reached_.load(std::memory_order_acquire);
  }
  void advance(std::uint64_t sequence) noexcept {
    std::uint64_t known = reached_.load(std::memory_order_relaxed);
    while (known < sequence &&
           !reached_.compare_exchange_weak(known, sequence, std::memory_order_acq_rel)) {
    }
  }
  /// The queue is gone, and with it all its commands.
  void end() noexcept { advance(UINT64_MAX); }

 private:
  std::atomic<std::uint64_t> reached_{0};
};

}  // namespace ob::client
