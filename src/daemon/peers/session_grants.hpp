#pragma once
// The grants that a session has made, and its links to those of others.

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "base/status.hpp"
#include "daemon/memory/resource_account.hpp"
#include "daemon/peers/grant.hpp"
#include "daemon/peers/grant_link.hpp"

namespace ob::daemon {

/// Threads: any
class SessionGrants {
 public:
  /// The grants of a session.
  static constexpr std::size_t kMostGrants = 1024;
  /// The daemons to whose grants a session has links. Each has a thread and a connection.
  static constexpr std::size_t kMostLinks = 64;

  ~SessionGrants() { close(); }

  /// Errors: protocol_error if the id is taken or 0; denied beyond the limit
  Status add(GrantId id, BufferId buffer, std::shared_ptr<Grant> grant);
  /// Returns nullptr if unknown.
  std::shared_ptr<Grant> find(GrantId id);
  /// End a grant, or those of a buffer, and wait for their uses.
  void revoke(GrantId id);
  void revoke_those_of(BufferId buffer);

  /// Returns the link to the daemon at an address; `make` makes it.
  /// Errors: denied beyond the limit; those of make
  Result<std::shared_ptr<GrantLink>> link(
      const std::string& address, const std::function<Result<std::shared_ptr<GrantLink>>()>& make);

  /// Ends everything.
  void close();

 private:
  struct Made {
    BufferId buffer;
    std::shared_ptr<Grant> grant;
  };
  std::mutex mutex_;  // guards all below
  std::unordered_map<GrantId, Made> grants_;
  std::unordered_map<std::string, std::shared_ptr<GrantLink>> links_;
};

}  // namespace ob::daemon
