#include "daemon/server/session_registry.hpp"

#include <algorithm>
#include <utility>

#include "daemon/io/token.hpp"

namespace ob::daemon {

SessionRegistry::SessionRegistry(std::vector<std::unique_ptr<Device>> devices,
                                 const SessionLimits& limits)
    : budgets_(memory_of(devices), limits) {
  for (auto& device : devices) {
    devices_.push_back(std::make_unique<ServedDevice>(std::move(device)));
  }
}

std::vector<std::uint64_t> SessionRegistry::memory_of(const Devices& devices) {
  std::vector<std::uint64_t> memory_bytes;
  for (const auto& device : devices) memory_bytes.push_back(device->info().memory_bytes);
  return memory_bytes;
}

// @pre mutex_ is held
Result<std::shared_ptr<Session>> SessionRegistry::find(const wire::Token& token,
                                                       UserId user) const {
  for (const Known& known : sessions_) {
    if (!same(known.token, token) || known.user != user) continue;
    if (known.lease != nullptr && !known.lease->valid()) return known.lease->over();
    if (auto session = known.session.lock()) return session;
  }
  return Status(Code::denied, "no such session (it ended, or the token is wrong)");
}

// In a pool, each client is shown the device that the gate chose, as if the daemon had no other.
// @pre mutex_ is held
Result<std::uint32_t> SessionRegistry::choose_device(const wire::Hello& hello,
                                                     const SessionLease* lease) const {
  const std::size_t shown = lease != nullptr ? 1 : devices_.size();
  const bool any = hello.device == UINT32_MAX;
  if (!any && hello.device >= shown) {
    return Status(Code::invalid_argument, "device " + std::to_string(hello.device) +
                                              " does not exist (devices: " + std::to_string(shown) +
                                              ")");
  }
  if (lease != nullptr) return lease->device();
  return any ? least_used_device() : hello.device;
}

Result<std::shared_ptr<Session>> SessionRegistry::open(const wire::Hello& hello,
                                                       const std::string& user,
                                                       std::unique_ptr<const SessionLease> lease) {
  const std::lock_guard lock(mutex_);
  std::erase_if(sessions_, [](const Known& known) { return known.session.expired(); });
  if (hello.join != wire::Token{}) return find(hello.join, number_of(user));
  OB_ASSIGN_OR_RETURN(const std::uint32_t index, choose_device(hello, lease.get()));
  OB_ASSIGN_OR_RETURN(const wire::Token token, new_token());
  ServedDevice& served = *devices_[index];
  SessionAccounts accounts = budgets_.open(index, user);
  const LeaseAccount* const account = account_of(lease.get());
  if (account != nullptr) accounts.memory = account->open_memory();
  auto commands = lease != nullptr ? lease->commands() : nullptr;
  auto session = std::make_shared<Session>(
      SessionDevice{*served.device, served.plans, served.share, index, served.use, counters_},
      token, number_of(user), std::move(accounts), (hello.flags & wire::kHoldsUserData) != 0,
      std::move(lease));
  sessions_.push_back({token, index, session, session.get(), session->memory(),
                       session->holds_user_data(), std::move(commands), account, number_of(user)});
  return session;
}

std::vector<SessionRegistry::SessionCount> SessionRegistry::session_counts() {
  const std::lock_guard lock(mutex_);
  std::vector<SessionCount> counts(devices_.size());
  for (const Known& known : sessions_) {
    if (known.session.expired()) continue;
    ++counts[known.device].all;
    if (known.lease != nullptr && !known.lease->leased()) ++counts[known.device].unleased;
  }
  return counts;
}

std::vector<const Session*> SessionRegistry::cut_off_sessions() {
  const std::lock_guard lock(mutex_);
  std::vector<const Session*> names;
  for (const Known& known : sessions_) {
    const bool is_over = known.lease != nullptr && !known.lease->valid();
    if (is_over && !known.session.expired()) names.push_back(known.name);
  }
  return names;
}

UserId SessionRegistry::number_of(const std::string& user) {
  if (user.empty()) return {};
  return UserId{users_.try_emplace(user, users_.size() + 1).first->second};
}

// Must not hold a session: its last holder waits for the session's work when it releases it.
// @pre mutex_ is held
std::uint32_t SessionRegistry::least_used_device() const {
  std::vector<std::size_t> sessions(devices_.size(), 0);
  for (const Known& known : sessions_) ++sessions[known.device];
  return static_cast<std::uint32_t>(std::min_element(sessions.begin(), sessions.end()) -
                                    sessions.begin());
}

std::vector<SessionRegistry::Holder> SessionRegistry::other_holders(const Session& session) {
  const std::lock_guard lock(mutex_);
  const LeaseAccount* const mine = account_of(session.lease());
  std::vector<Holder> holders;
  for (const Known& known : sessions_) {
    if (known.device != session.device_index() || known.name == &session) continue;
    if (known.account != mine) continue;
    const auto memory = known.memory.lock();
    const std::uint64_t bytes = memory == nullptr ? 0 : memory->used();
    if (bytes != 0) holders.push_back({known.name, bytes, known.holds_user_data});
  }
  return holders;
}

std::optional<std::uint32_t> SessionRegistry::device_of(const Session* name) {
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(sessions_.begin(), sessions_.end(), [&](const Known& k) {
    return name != nullptr && k.name == name;
  });
  if (known == sessions_.end()) return std::nullopt;
  return known->device;
}

}  // namespace ob::daemon
