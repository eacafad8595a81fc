#pragma once
// Waiting for commands that use a buffer.

#include <vector>

#include "base/status.hpp"
#include "daemon/session/client_context.hpp"

namespace ob::daemon {

/// Blocks the connection until the commands are done.   Threads: the connection's I/O thread
/// Errors: connection_lost if the client leaves meanwhile; those of sending
Status wait_for(ClientContext& client, const std::vector<BufferUse>& uses);

}  // namespace ob::daemon
