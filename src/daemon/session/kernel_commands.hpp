#pragma once
// Handlers of commands that load modules of kernels, and launch them.

#include "base/status.hpp"
#include "daemon/session/client_context.hpp"

namespace ob::daemon {

/// Receives a module and lets the device compile it. The answer follows when this is done.
/// Threads: the connection's I/O thread
/// Errors, which end the connection: protocol_error; denied; connection_lost
Status on_load_module(ClientContext& client, const session::Message& message);
Status on_unload_module(ClientContext& client, const session::Message& message);
/// Submits a launch to the device's queue.
/// Threads: the connection's I/O thread   Errors: protocol_error ends the connection; others stick
/// to the queue
Status on_launch(ClientContext& client, const QueueCommand& command);

}  // namespace ob::daemon
