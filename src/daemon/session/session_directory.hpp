#pragma once
// The sessions of a daemon, as its connections see them.

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "daemon/io/life_signs.hpp"
#include "daemon/session/session.hpp"
#include "wire/message.hpp"

namespace ob::daemon {

/// Threads: any
class SessionDirectory {
 public:
  virtual ~SessionDirectory() = default;
  /// Finds or makes the session that a client asks for.
  /// @param user the proven user of the client; empty: nobody
  /// Errors: denied for an unknown token; invalid_argument for a device that does not exist; at a
  /// daemon of a managed pool those of Leases::admit(), and fenced for a session whose lease is
  /// over
  virtual Result<std::shared_ptr<Session>> open(const wire::Hello& hello,
                                                const std::string& user) = 0;
  /// Ends other sessions of the same device that are idle or whose client has left, so that it has
  /// room for `bytes`: the longest idle first, no more than needed, and none if that is not enough.
  /// The memory is free soon after; their clients open new sessions when they need them.   @returns
  /// the bytes that the sessions held
  virtual std::uint64_t make_room(const Session& wanting, std::uint64_t bytes) = 0;
  virtual std::uint32_t device_count() const noexcept = 0;
  /// The thread that shows waiting clients that the daemon is alive.
  virtual LifeSigns& life_signs() noexcept = 0;
};

}  // namespace ob::daemon
