#include "daemon/server/member_connections.hpp"

#include <algorithm>

namespace ob::daemon {
namespace {

// One part in this many of all connections is kept for users with few.
constexpr std::size_t kKeptParts = 4;
// A user has few if it has less than one part in this many.
constexpr std::size_t kFewParts = 16;

}  // namespace

Result<MemberConnections::Seat> MemberConnections::enter(const std::string& user) {
  const std::lock_guard lock(mutex_);
  const std::string limit = std::to_string(limit_);
  if (open_ >= limit_) {
    return Status(Code::unavailable, "daemon is full (" + limit + " connections are open)");
  }
  const auto known = open_of_.find(user);
  const std::size_t mine = known == open_of_.end() ? 0 : known->second;
  const bool few = mine < std::max<std::size_t>(1, limit_ / kFewParts);
  if (!few && limit_ - open_ <= limit_ / kKeptParts) {
    return Status(Code::unavailable, std::to_string(mine) + " of the daemon's " + limit +
                                         " connections are this user's, and the last ones are " +
                                         "kept for others (close some or raise --max-connections)");
  }
  ++open_of_[user];
  ++open_;
  return Seat(this, user);
}

void MemberConnections::leave(const std::string& user) {
  const std::lock_guard lock(mutex_);
  --open_;
  const auto at = open_of_.find(user);
  if (--at->second == 0) open_of_.erase(at);
}

}  // namespace ob::daemon
