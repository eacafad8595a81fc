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

Result<std::shared_ptr<Session>> SessionRegistry::open(const wire::Hello& hello,
                                                       const std::string& user) {
  const std::lock_guard lock(mutex_);
  std::erase_if(sessions_, [](const Known& known) { return known.session.expired(); });
  if (hello.join != wire::Token{}) {
    for (const Known& known : sessions_) {
      if (!same(known.token, hello.join)) continue;
      if (auto session = known.session.lock()) return session;
    }
    return Status(Code::denied, "no such session (it ended, or the token is wrong)");
  }
  const bool any = hello.device == UINT32_MAX;
  if (!any && hello.device >= devices_.size()) {
    return Status(Code::invalid_argument,
                  "device " + std::to_string(hello.device) +
                      " does not exist (devices: " + std::to_string(devices_.size()) + ")");
  }
  const std::uint32_t index = any ? least_used_device() : hello.device;
  OB_ASSIGN_OR_RETURN(const wire::Token token, new_token());
  ServedDevice& served = *devices_[index];
  auto session = std::make_shared<Session>(
      SessionDevice{*served.device, served.plans, served.share, index}, token, number_of(user),
      budgets_.open(index, user), (hello.flags & wire::kHoldsUserData) != 0);
  sessions_.push_back(
      {token, index, session, session.get(), session->memory(), session->holds_user_data()});
  return session;
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
  std::vector<Holder> holders;
  for (const Known& known : sessions_) {
    if (known.device != session.device_index() || known.name == &session) continue;
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
