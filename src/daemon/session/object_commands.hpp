#pragma once
// Handlers of commands that make, find and destroy a session's objects. They belong to no queue.

#include "base/status.hpp"
#include "daemon/session/client_context.hpp"

namespace ob::daemon {

/// Execute one command. An object that cannot be made still takes its id: commands that use it get
/// the failure.
/// Threads: the connection's I/O thread
/// Errors, which end the connection: protocol_error; denied; connection_lost
Status on_ping(ClientContext& client, const session::Message& message);
Status on_create_queue(ClientContext& client, const session::Message& message);
Status on_destroy_queue(ClientContext& client, const session::Message& message);
Status on_set_accuracy(ClientContext& client, const session::Message& message);
Status on_allocate(ClientContext& client, const session::Message& message);
Status on_free(ClientContext& client, const session::Message& message);
Status on_locate(ClientContext& client, const session::Message& message);
Status on_make_plan(ClientContext& client, const session::Message& message);
Status on_destroy_plan(ClientContext& client, const session::Message& message);

}  // namespace ob::daemon
