#include "daemon/peers/session_grants.hpp"

#include <utility>

namespace ob::daemon {

Status SessionGrants::add(GrantId id, BufferId buffer, std::shared_ptr<Grant> grant) {
  const std::lock_guard lock(mutex_);
  if (!id || grants_.count(id) != 0) {
    return {Code::protocol_error, "grant id " + std::to_string(id.value) + " is in use or 0"};
  }
  if (grants_.size() >= kMostGrants) {
    return {Code::denied,
            "session has too many grants (limit " + std::to_string(kMostGrants) + ")"};
  }
  grants_[id] = {buffer, std::move(grant)};
  return {};
}

std::shared_ptr<Grant> SessionGrants::find(GrantId id) {
  const std::lock_guard lock(mutex_);
  const auto at = grants_.find(id);
  return at == grants_.end() ? nullptr : at->second.grant;
}

void SessionGrants::revoke(GrantId id) {
  std::shared_ptr<Grant> gone;  // revoke() waits: not under the lock
  {
    const std::lock_guard lock(mutex_);
    const auto at = grants_.find(id);
    if (at == grants_.end()) return;
    gone = std::move(at->second.grant);
    grants_.erase(at);
  }
  gone->revoke();
}

void SessionGrants::revoke_those_of(BufferId buffer) {
  std::vector<std::shared_ptr<Grant>> gone;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(grants_, [&](const auto& entry) {
      if (entry.second.buffer != buffer) return false;
      gone.push_back(entry.second.grant);
      return true;
    });
  }
  for (const auto& grant : gone) grant->revoke();
}

Result<std::shared_ptr<GrantLink>> SessionGrants::link(
    const std::string& address, const std::function<Result<std::shared_ptr<GrantLink>>()>& make) {
  const std::lock_guard lock(mutex_);
  const auto known = links_.find(address);
  if (known != links_.end()) return known->second;
  if (links_.size() >= kMostLinks) {
    return Status(Code::denied, "session uses the grants of too many daemons (limit " +
                                    std::to_string(kMostLinks) + ")");
  }
  OB_ASSIGN_OR_RETURN(auto made, make());
  links_[address] = made;
  return made;
}

void SessionGrants::close() {
  std::unordered_map<std::string, std::shared_ptr<GrantLink>> links;
  std::unordered_map<GrantId, Made> grants;
  {
    const std::lock_guard lock(mutex_);
    links.swap(links_);
    grants.swap(grants_);
  }
  links.clear();
  for (const auto& [id, made] : grants) made.grant->revoke();
}

}  // namespace ob::daemon
