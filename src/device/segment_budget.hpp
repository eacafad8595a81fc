#pragma once
// The number of memory files that the users of a device may hold.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "base/status.hpp"
#include "device/account.hpp"
#include "device/host_segment.hpp"

namespace ob {

/// Counts segments by user and by session. Each one takes a file descriptor and up to three
/// mappings of the process.
///
/// A user may hold as many segments as are left for all others. A session may hold three times as
/// many as are left for other sessions of its user. So one session gets at most 3/7 of all
/// segments, n users with many sessions 1/(n + 1) each, and some are always left for the next user.
/// Account{} names the process itself, which may hold all.
/// Threads: any
/// Source: Choudhury, Hahne, "Dynamic queue length thresholds for shared-memory packet switches",
/// IEEE/ACM Trans. Networking 6(2), 1998, section III
class SegmentBudget : public std::enable_shared_from_this<SegmentBudget> {
 public:
  explicit SegmentBudget(std::uint64_t most) : most_(most) {}

  /// Returns the segments for each of `devices` devices of this process: half of the descriptors
  /// that it may open, and three quarters of the mappings. The rest is for connections.
  static std::uint64_t share_of_process(unsigned devices);
  /// Changes the number of segments for all users together.
  void set_most(std::uint64_t most);

  /// Creates a segment that counts for `owner` until it is destroyed.
  /// Errors: out_of_memory, also if the owner holds its share
  Result<std::shared_ptr<HostSegment>> create(const Account& owner, std::uint64_t wanted_bytes);
  /// Counts a segment for `owner` until it is destroyed or HostSegment::hold() is called again.
  /// Errors: out_of_memory if the owner holds its share
  Status count(const Account& owner, HostSegment& segment);

  /// Returns the segments that count for anybody.
  std::uint64_t held() const;

 private:
  struct User {
    std::uint64_t held = 0;
    std::map<SessionId, std::uint64_t> sessions;
  };

  Result<std::shared_ptr<const void>> take(const Account& owner);
  void give_back(const Account& owner) noexcept;
  void forget_unused(const Account& owner) noexcept;

  mutable std::mutex mutex_;
  std::uint64_t most_;
  std::uint64_t held_ = 0;
  std::map<UserId, User> users_;
};

}  // namespace ob
