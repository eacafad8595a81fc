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
  /// @param waits for something outside of the device, with whose failure the command fails
  void note(std::uint64_t sequence, bool waits = false) noexcept {
    sequences_[++noted_ % kRemembered].store(2 * sequence + (waits ? 1 : 0),
                                             std::memory_order_relaxed);
  }
  /// Returns the sequence of the first command that failed on the device; 0 if none did.
  std::uint64_t first_failed(const QueueReport& report) noexcept {
    if (!report.status.ok() && first_failed_ == 0) {
      const std::uint64_t known =
          sequences_[report.failed_command % kRemembered].load(std::memory_order_relaxed);
      first_failed_ = known / 2;
      failed_outside_ = known % 2 == 1;
    }
    return first_failed_;
  }
  /// True if that failure is of what the command has waited for.
  bool failed_outside() const noexcept { return failed_outside_; }
  void clear_failure() noexcept {
    first_failed_ = 0;
    failed_outside_ = false;
  }

 private:
  // Answers come at least every kInitialCredits commands, so a failure is seen before its number is
  // overwritten.
  static constexpr std::size_t kRemembered = std::size_t{2} * wire::kInitialCredits;
  std::uint64_t noted_ = 0;
  std::uint64_t first_failed_ = 0;
  bool failed_outside_ = false;
  std::array<std::atomic<std::uint64_t>, kRemembered> sequences_{};  // 2 * sequence + waits
};

}  // namespace ob::daemon
