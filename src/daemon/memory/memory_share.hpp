#pragma once
// How much of a device's memory a session should hold on to while it computes nothing.

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace ob::daemon {

/// Half of a device's memory is for what sessions keep between calls, in equal parts; the rest is
/// for the calls. Sessions are told their part and keep to it by themselves: what one needs for
/// the time of a call is not bounded by this.
/// Threads: any
class MemoryShare {
 public:
  explicit MemoryShare(std::uint64_t memory_bytes) : memory_bytes_(memory_bytes) {}

  /// What one session should keep at most [bytes].
  std::uint64_t keep_bytes() const noexcept {
    return memory_bytes_ / 2 / std::max<std::uint64_t>(1, members_.load());
  }

  /// A session's part, given up at its end.   Memory: the share outlives it
  class Member {
   public:
    explicit Member(MemoryShare& share) : share_(share) { ++share_.members_; }
    ~Member() { --share_.members_; }
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;
    std::uint64_t keep_bytes() const noexcept { return share_.keep_bytes(); }

   private:
    MemoryShare& share_;
  };

 private:
  const std::uint64_t memory_bytes_;
  std::atomic<std::uint64_t> members_{0};
};

}  // namespace ob::daemon
