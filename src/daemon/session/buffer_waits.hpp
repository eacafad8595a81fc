#pragma once
// Waiting for commands that use a buffer.

#include <vector>

#include "base/status.hpp"
#include "daemon/session/client_context.hpp"

namespace ob::daemon {

/// Blocks the connection until the commands are done. Sends the client signs of life meanwhile.
/// Threads: the connection's I/O thread   Errors: those of sending
Status wait_for(ClientContext& client, const std::vector<BufferUse>& uses);

}  // namespace ob::daemon
