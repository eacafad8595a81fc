#pragma once
// The decision whether the machine of a TCP peer is dead.

#include <atomic>
#include <chrono>

#include "transport/stream.hpp"

namespace ob::transport::tcp {

// The limit of a side that has connected: longer than any route change that a running calculation
// should survive. A client has a shorter one of its own (docs/wire.md, section 8).
inline constexpr std::chrono::milliseconds kLongestSilence{5000};
// The limit of a side that was called. A client that waits for the daemon has given up by then, and
// others need what the daemon holds for it. The silence begins with the first retransmission. A
// daemon sends a sign of life at least every 0.3 s, TCP repeats it after 0.2 s on a fast network,
// and the daemon looks every 0.25 s. So it notices a dead client after 2 s.
inline constexpr std::chrono::milliseconds kLongestSilenceOfCaller{1250};

/// Tells a peer whose machine acknowledges nothing from one that is alive and does not read. It
/// measures from look to look, so somebody looks several times a second.
/// Threads: any
class PeerSilence {
 public:
  /// @param limit while bytes wait for an acknowledgement; without such bytes it is kLongestSilence
  explicit PeerSilence(std::chrono::milliseconds limit) noexcept : limit_(limit) {}

  /// True if the peer's machine has not answered our transmissions for longer than the limit.
  /// @param fd the connected socket     Cost: a system call
  bool is_too_long(int fd) const noexcept;

 private:
  const std::chrono::milliseconds limit_;
  // The time of the look that first saw that a transmission was repeated; 0: none is.
  mutable std::atomic<Clock::rep> repeated_since_{0};
};

}  // namespace ob::transport::tcp
