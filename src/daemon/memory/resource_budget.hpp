#pragma once
// A resource of the daemon that its users share.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.hpp"
#include "daemon/memory/resource_account.hpp"

namespace ob::daemon {

/// A resource and its limits. The texts are literals, for messages.
struct Resource {
  /// When a part of the resource is kept for others.
  enum class Sharing {
    beside_others,  ///< while sessions of another user exist
    always,         ///< also while there are none, because nothing ends the use of an idle session
  };

  const char* unit;   ///< in the plural: "bytes of the device"
  std::uint64_t all;  ///< for all users together
  std::uint64_t user = UINT64_MAX;
  const char* session_option = "";
  const char* user_option = "";
  const char* all_option = "";
  Sharing sharing = Sharing::beside_others;
  /// The owner of the resource refuses more than `all`; this budget only limits the shares.
  bool all_is_enforced = false;
  const char* sessions = "all sessions of this user";  ///< the sessions that count together
};

/// Counts a resource by session and by user. The sessions of a user together have a limit. A
/// session without a proven user counts for itself.
///
/// If the resource is shared, a user may hold three times as much as is left. So one user gets at
/// most 3/4, n users 3/(3n + 1) each, and there is always something left for the next one. This is
/// the rule of SegmentBudget with another factor, which keeps as much as MemberConnections.
/// Threads: any
class ResourceBudget : public std::enable_shared_from_this<ResourceBudget> {
 public:
  explicit ResourceBudget(const Resource& resource) : resource_(resource) {}

  /// Makes the account of a new session.   @param user the proven one; empty: none
  std::shared_ptr<ResourceAccount> open(const std::string& user, std::uint64_t session_limit);

 private:
  friend ResourceAccount;
  friend Reservation;
  using User = ResourceAccount::User;

  void close(const ResourceAccount& account) noexcept;
  Status take(ResourceAccount& account, std::uint64_t amount);
  void give_back(ResourceAccount& account, std::uint64_t amount) noexcept;
  // @pre of the following: mutex_ is held
  Status check(const ResourceAccount& account, std::uint64_t amount) const;
  bool is_shared() const noexcept;
  std::uint64_t missing_share(const User& user, std::uint64_t amount) const noexcept;

  const Resource resource_;
  mutable std::mutex mutex_;  // guards all below, and the counts of the accounts
  std::uint64_t used_ = 0;
  std::size_t users_ = 0;  // with sessions; each unproven one is another user
  std::map<std::string, std::weak_ptr<User>> proven_users_;  // those with sessions
};

}  // namespace ob::daemon
