#pragma once
// A connection after its handshake: that of a client or of another daemon.

#include "base/status.hpp"

namespace ob::daemon {

class Session;

/// Threads: the connection's I/O thread; idle() by any
class ServedConnection {
 public:
  virtual ~ServedConnection() = default;
  /// Handles messages until the other side leaves.   @returns the reason of the end; ok after
  /// goodbye
  virtual Status serve() = 0;
  /// Releases the connection's parts of sessions. Waits for the work of its queues.
  /// @pre the stream is shut down
  virtual void close() = 0;
  /// True if nobody waits for anything except the answers that the channel counts.
  virtual bool idle() const { return true; }
  /// The session that the client uses, as a name; nullptr if there is none.
  virtual const Session* session() const noexcept { return nullptr; }
};

}  // namespace ob::daemon
