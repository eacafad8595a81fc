#pragma once
// Ids. Every id space is a type of its own, so that a buffer cannot be freed as a plan.

#include <cstdint>
#include <functional>

namespace ob {

template <class Tag>
struct Id {
  std::uint64_t value = 0;  ///< 0 names nothing
  explicit operator bool() const noexcept { return value != 0; }
  friend auto operator<=>(const Id&, const Id&) = default;
};

using BufferId = Id<struct BufferTag>;
using QueueId = Id<struct QueueTag>;
using EventId = Id<struct EventTag>;
using PlanId = Id<struct PlanTag>;
using ModuleId = Id<struct ModuleTag>;
using GateId = Id<struct GateTag>;
using GrantId = Id<struct GrantTag>;
using PeerId = Id<struct PeerTag>;
using PeerMessageId = Id<struct MessageTag>;
using UserId = Id<struct UserTag>;
using LeaseId = Id<struct LeaseTag>;
using SessionId = Id<struct SessionTag>;

}  // namespace ob

template <class Tag>
struct std::hash<ob::Id<Tag>> {
  std::size_t operator()(const ob::Id<Tag>& id) const noexcept {
    return std::hash<std::uint64_t>()(id.value);
  }
};
