#pragma once
// The part of a device's memory that a session should keep while it computes nothing.

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace ob::daemon {

/// Divides one half of a device's memory equally among its sessions, for memory that they keep
/// between calls. The other half is for the calls. The clients respect their part voluntarily; it
/// does not limit the memory during a call.
/// Threads: any
class MemoryShare {
 public:
  explicit MemoryShare(std::uint64_t memory_bytes) : memory_bytes_(memory_bytes) {}

  /// Returns the most that one session should keep [bytes].
  std::uint64_t keep_bytes() const noexcept {
    return memory_bytes_ / 2 / std::max<std::uint64_t>(1, members_.load());
  }

  /// A session's part, which returns when the part ends.   Memory: the share outlives it
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
