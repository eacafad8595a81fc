#pragma once
// Handlers of commands for grants: one-sided copies between sessions.

#include "base/status.hpp"
#include "daemon/session/client_context.hpp"

namespace ob::daemon {

/// Make and end a grant. They belong to no queue.
/// Threads: the connection's I/O thread   Errors, which end the connection: protocol_error;
/// connection_lost
Status on_create_grant(ClientContext& client, const session::Message& message);
Status on_revoke_grant(ClientContext& client, const session::Message& message);

/// Hold the queue until puts have landed in a grant of this session, or until the put or get to
/// that of another session is over.
/// Threads: the connection's I/O thread   Errors: protocol_error ends the connection; others stick
/// to the queue
Status on_await_grant(ClientContext& client, const QueueCommand& command);
Status on_put(ClientContext& client, const QueueCommand& command);
Status on_get(ClientContext& client, const QueueCommand& command);

}  // namespace ob::daemon
