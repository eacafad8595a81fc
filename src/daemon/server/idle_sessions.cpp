#include "daemon/server/idle_sessions.hpp"

#include <algorithm>
#include <utility>

namespace ob::daemon {

std::vector<IdleSession> choose_idle(std::vector<IdleSession> idle, std::uint64_t bytes) {
  std::sort(idle.begin(), idle.end(),
            [](const IdleSession& a, const IdleSession& b) { return a.since < b.since; });
  std::vector<IdleSession> chosen;
  std::uint64_t held = 0;
  for (IdleSession& session : idle) {
    if (held >= bytes) break;
    held += session.bytes;
    chosen.push_back(std::move(session));
  }
  if (held < bytes) return {};
  std::erase_if(chosen, [&](const IdleSession& session) {
    const bool needless = held - session.bytes >= bytes;
    if (needless) held -= session.bytes;
    return needless;
  });
  return chosen;
}

}  // namespace ob::daemon
