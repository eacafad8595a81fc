#pragma once
// Waiting for commands that use a buffer.

#include <vector>

#include "base/status.hpp"
#include "daemon/session/client_context.hpp"

namespace ob::daemon {

/// Holds the connection until the commands are done. Tells the client now and then that this daemon
/// is alive.
/// Threads: the connection's I/O thread   Errors: those of sending
Status wait_for(ClientContext& client, const std::vector<BufferUse>& uses);

}  // namespace ob::daemon
