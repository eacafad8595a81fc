#pragma once
// The wire sequences of the commands that a queue gave to its device.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "device/device.hpp"
#include "wire/message.hpp"

namespace ob::daemon {

/// Finds the wire sequence of a command from its number on the device.
/// Threads: note() by the connection; the rest by the queue's answers, in the queue's order
class CommandLog {
 public:
  /// Notes that the device got the command with this sequence.
  void note(std::uint64_t sequence) noexcept {
    sequences_[++noted_ % kRemembered].store(sequence, std::memory_order_relaxed);
  }
  /// Returns the sequence of the first command that failed on the device; 0 if none did.
  std::uint64_t first_failed(const QueueReport& report) noexcept {
    if (!report.status.ok() && first_failed_ == 0) {
      first_failed_ =
          sequences_[report.failed_command % kRemembered].load(std::memory_order_relaxed);
    }
    return first_failed_;
  }
  void clear_failure() noexcept { first_failed_ = 0; }

 private:
  // Answers come at least every kInitialCredits commands, so a failure is seen before its number is
  // overwritten.
  static constexpr std::size_t kRemembered = std::size_t{2} * wire::kInitialCredits;
  std::uint64_t noted_ = 0;
  std::uint64_t first_failed_ = 0;
  std::array<std::atomic<std::uint64_t>, kRemembered> sequences_{};
};

}  // namespace ob::daemon
