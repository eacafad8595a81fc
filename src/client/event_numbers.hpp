#pragma once
// The numbers of the events of a session.

#include <cstdint>
#include <vector>

#include "base/ids.hpp"

namespace ob::client {

/// Gives numbers to events. Those of destroyed events are used again, because a daemon keeps a
/// number for as long as the session lives.   Threads: one at a time
class EventNumbers {
 public:
  EventId take() {
    if (spare_.empty()) return EventId{next_++};
    const EventId event = spare_.back();
    spare_.pop_back();
    return event;
  }
  void give_back(EventId event) { spare_.push_back(event); }

 private:
  std::vector<EventId> spare_;
  std::uint64_t next_ = 1;
};

}  // namespace ob::client
