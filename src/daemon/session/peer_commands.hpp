#pragma once
// Handlers of commands for messages between sessions.

#include "base/status.hpp"
#include "daemon/session/client_context.hpp"

namespace ob::daemon {

/// Open and close the session's mailbox and its links. They belong to no queue.
/// Threads: the connection's I/O thread   Errors, which end the connection: protocol_error;
/// connection_lost
Status on_open_mailbox(ClientContext& client, const session::Message& message);
Status on_close_mailbox(ClientContext& client, const session::Message& message);
Status on_connect_peer(ClientContext& client, const session::Message& message);
Status on_disconnect_peer(ClientContext& client, const session::Message& message);

/// Sends a region once the queue gets here.
/// Threads: the connection's I/O thread   Errors: protocol_error ends the connection; others stick
/// to the queue
Status on_send(ClientContext& client, const QueueCommand& command);

/// Posts a receive, which matches once the queue gets here. The answer comes when the message has
/// arrived or cannot come; a failure that the queue had before is one reason.
/// Threads: the connection's I/O thread   Errors: those that end the connection; others are answers
Status on_receive(ClientContext& client, const QueueCommand& command);

/// Records an event when the last message of the queue has arrived or is sent, or cannot.
/// Threads: the connection's I/O thread   Errors: those of Session::event(); invalid_argument if
/// there is no message
Status on_record_transfer(ClientContext& client, const QueueCommand& command);

}  // namespace ob::daemon
