#pragma once
// Handlers of queue commands that move elements between a client and its buffers.

#include "base/status.hpp"
#include "daemon/session/client_context.hpp"

namespace ob::daemon {

/// Receives the payload to the buffer once nothing uses it any more.
/// Threads: the connection's I/O thread   Errors: protocol_error and connection_lost end the
/// connection; others stick to the queue
Status on_write(ClientContext& client, const QueueCommand& command);

/// Answer with elements, or with digests of them, once the queue gets here.
/// Threads: the connection's I/O thread   Errors: those that end the connection; others are answers
Status on_read(ClientContext& client, const QueueCommand& command);
Status on_digest(ClientContext& client, const QueueCommand& command);

}  // namespace ob::daemon
