#pragma once
// The parts of a server that its connections use.

#include <chrono>

#include "daemon/peers/peer_directory.hpp"
#include "daemon/server/handshake_budget.hpp"
#include "daemon/server/member_connections.hpp"
#include "daemon/server/stripe_group.hpp"
#include "daemon/session/kernel_rights.hpp"
#include "daemon/session/session_directory.hpp"

namespace ob::daemon {

/// Memory: belongs to the server, which outlives its connections
struct ConnectionServices {
  SessionDirectory& sessions;
  PeerDirectory& peers;
  StripeGroups& stripes;
  HandshakeBudget& handshakes;
  MemberConnections& members;
  std::chrono::seconds longest_idle;  ///< a connection that is unused for longer is closed
  KernelPolicy kernels;
};

}  // namespace ob::daemon
