#include "daemon/session/session_gates.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace ob::daemon {
namespace {

// As many as a session may have events.
constexpr std::size_t kMostWaiting = 65536;

}  // namespace

Result<std::shared_ptr<Gate>> SessionGates::meet(GateId id, bool holds) {
  const auto at = waiting_.find(id);
  if (!id || (at != waiting_.end() && at->second.held == holds)) {
    return Status(Code::protocol_error, "gate " + std::to_string(id.value) + " is in use or 0");
  }
  if (at != waiting_.end()) {
    auto gate = std::move(at->second.gate);
    waiting_.erase(at);
    return gate;
  }
  if (waiting_.size() >= kMostWaiting) {
    return Status(Code::denied,
                  "session has too many gates (limit " + std::to_string(kMostWaiting) + ")");
  }
  Entry& entry = waiting_[id];
  entry.held = holds;
  return entry.gate;
}

Result<std::shared_ptr<const Gate>> SessionGates::hold(GateId id) {
  const std::lock_guard lock(mutex_);
  OB_ASSIGN_OR_RETURN(auto gate, meet(id, true));
  return std::shared_ptr<const Gate>(std::move(gate));
}

Status SessionGates::release(GateId id, Status outcome) {
  std::shared_ptr<Gate> gate;
  {
    const std::lock_guard lock(mutex_);
    OB_ASSIGN_OR_RETURN(gate, meet(id, false));
  }
  gate->open(std::move(outcome));
  return {};
}

}  // namespace ob::daemon
