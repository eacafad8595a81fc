#pragma once
// Limits of the connections that have not proven yet that they belong to a client.

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "daemon/server/source_counts.hpp"

namespace ob::daemon {

struct HandshakeLimits {
  std::size_t total = 128;  ///< handshakes under way; each takes a thread and up to 656 KiB
  /// The time from the accepted stream to its first byte, and from there to its first whole
  /// message, with the TLS handshake.
  std::chrono::milliseconds time{5000};
  /// Streams that have sent nothing (SilentStreams). 0: a sixteenth of the descriptors that the
  /// process may open, at most 1024.
  std::size_t silent = 0;
};

/// The stream of a handshake, for the budget.
struct HandshakeStream {
  std::string source;           ///< see source_of()
  std::function<void()> close;  ///< ends the stream; must not block; not called after its place
};

/// Counts handshakes under way, at most `total`, by the rule of SourceCounts: an entry that
/// is replaced is closed.
/// Threads: any
class HandshakeBudget {
 public:
  /// A handshake under way.
  class Place {
   public:
    ~Place() { budget_.leave(at_); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    /// True if the budget has closed this handshake for another one.
    bool closed() const { return budget_.closed(at_); }

   private:
    friend HandshakeBudget;
    struct Handshake {
      HandshakeStream stream;
      bool closed = false;
    };
    using At = std::list<Handshake>::iterator;
    Place(HandshakeBudget& budget, At at) : budget_(budget), at_(at) {}

    HandshakeBudget& budget_;
    const At at_;
  };

  explicit HandshakeBudget(const HandshakeLimits& limits) : limits_(limits), open_(limits.total) {}

  const HandshakeLimits& limits() const noexcept { return limits_; }

  /// Counts a new handshake; may close another one.
  /// @returns nullptr if too many closed handshakes have not ended yet: half of the limit of this
  /// source, or twice the limit of all
  std::unique_ptr<Place> enter(HandshakeStream stream);

 private:
  using Handshake = Place::Handshake;
  using At = Place::At;

  void leave(At at);
  bool closed(At at);
  void close_oldest_of(const std::string& source);  // @pre mutex_ is held

  const HandshakeLimits limits_;
  std::mutex mutex_;                 // guards all below
  std::list<Handshake> handshakes_;  // in order of arrival
  SourceCounts open_;                // those that are not closed
  std::size_t closed_ = 0;           // those that have not ended yet
};

}  // namespace ob::daemon
