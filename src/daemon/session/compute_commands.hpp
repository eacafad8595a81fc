#pragma once
// Handlers of queue commands that the device executes.

#include "base/status.hpp"
#include "daemon/session/client_context.hpp"

namespace ob::daemon {

/// Submit one command to the device's queue.
/// Threads: the connection's I/O thread   Errors: protocol_error ends the connection; others stick
/// to the queue
Status on_copy(ClientContext& client, const QueueCommand& command);
Status on_fill(ClientContext& client, const QueueCommand& command);
Status on_call(ClientContext& client, const QueueCommand& command);
Status on_execute_plan(ClientContext& client, const QueueCommand& command);
Status on_record(ClientContext& client, const QueueCommand& command);
Status on_wait(ClientContext& client, const QueueCommand& command);
Status on_hold(ClientContext& client, const QueueCommand& command);

/// Lets a queue go on that on_hold() holds.
/// Threads: the connection's I/O thread   Errors, which end the connection: those of SessionGates
Status on_release(ClientContext& client, const session::Message& message);

/// Answers with the queue's failure once the queue gets here, and clears it.
/// Threads: the connection's I/O thread   Errors: those of the device
Status on_synchronize(ClientContext& client, const QueueCommand& command);
/// Answers with the queue's failure and the device's clock once the queue gets here.
/// Threads: the connection's I/O thread   Errors: those of the device
Status on_mark(ClientContext& client, const QueueCommand& command);

}  // namespace ob::daemon
