#pragma once
// Limits of the connections that have finished their handshake.

#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/status.hpp"

namespace ob::daemon {

/// Counts connections against a limit. The last quarter of them is kept for users with few: a user
/// with a sixteenth of the limit or more cannot take from it. So no user can take all.
/// Threads: any
class MemberConnections {
 public:
  /// A connection that counts, until it ends. Empty after a move from it, or if it was made by
  /// default.   Memory: must end before the MemberConnections
  class Seat {
   public:
    Seat() noexcept = default;
    Seat(Seat&& other) noexcept
        : members_(std::exchange(other.members_, nullptr)), user_(std::move(other.user_)) {}
    Seat& operator=(Seat&& other) noexcept {
      std::swap(members_, other.members_);
      std::swap(user_, other.user_);
      return *this;
    }
    ~Seat() {
      if (members_ != nullptr) members_->leave(user_);
    }

   private:
    friend MemberConnections;
    Seat(MemberConnections* members, std::string user)
        : members_(members), user_(std::move(user)) {}
    MemberConnections* members_ = nullptr;
    std::string user_;
  };

  explicit MemberConnections(std::size_t limit) : limit_(limit) {}

  /// Counts a connection of this user; those without a proven user are one user.
  /// Errors: unavailable beyond the limit or the user's share
  Result<Seat> enter(const std::string& user);

 private:
  void leave(const std::string& user);

  const std::size_t limit_;
  std::mutex mutex_;  // guards all below
  std::size_t open_ = 0;
  std::unordered_map<std::string, std::size_t> open_of_;
};

}  // namespace ob::daemon
