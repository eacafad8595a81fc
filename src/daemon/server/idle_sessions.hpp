#pragma once
// The choice of the idle sessions that end when another one needs their memory.

#include <cstdint>
#include <vector>

#include "daemon/server/connection.hpp"
#include "transport/stream.hpp"

namespace ob::daemon {

/// A session that nobody uses now.
struct IdleSession {
  transport::Clock::time_point since;    ///< the last use
  std::uint64_t bytes = 0;               ///< of the device's memory that it holds
  std::vector<Connection*> connections;  ///< all of them
};

/// Chooses sessions that hold at least `bytes` together: the longest idle first, without those that
/// the others make needless. Chooses none if all together hold less, because their end would help
/// nobody.
std::vector<IdleSession> choose_idle(std::vector<IdleSession> idle, std::uint64_t bytes);

}  // namespace ob::daemon
