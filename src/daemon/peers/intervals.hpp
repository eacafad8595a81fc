#pragma once
// The intervals at which waits of peers check for events that nobody signals.

#include <chrono>

namespace ob::daemon {

/// A link that is idle, or that waits to send, checks at this interval that its other end is there.
inline constexpr std::chrono::milliseconds kLinkCheckInterval{1000};
/// A wait for a message or for its receive checks at this interval whether it is cancelled.
inline constexpr std::chrono::milliseconds kCancelCheckInterval{50};

}  // namespace ob::daemon
