#include "daemon/session/client_connection.hpp"

#include <string>

#include "daemon/session/queue_answers.hpp"

namespace ob::daemon {

using wire::Opcode;

Status ClientConnection::serve() {
  const LifeSigns::Registration shown(client_.sessions.life_signs(), *client_.channel);
  for (;;) {
    OB_ASSIGN_OR_RETURN(const auto message, client_.channel->next_message());
    if (message.header.opcode == Opcode::goodbye) {
      said_goodbye_ = true;
      return {};
    }
    OB_RETURN_IF_ERROR(execute_if_leased(message));
    if (client_.channel->receiver().payload_left() != 0) {
      return {Code::protocol_error, "payload on a message that has none"};
    }
  }
}

void ClientConnection::close() {
  if (client_.session == nullptr) return;
  // Nobody waits for the results of a client that went away in the middle of its work.
  if (!said_goodbye_) client_.session->abandon_queues_of(client_.owner());
  if (said_goodbye_) client_.session->abandon_held_queues_of(client_.owner());
  client_.session->destroy_queues_of(client_.owner());
  client_.session.reset();
}

// The gate counts the commands that run, and none starts once it has cut off the session.
Status ClientConnection::execute_if_leased(const session::Message& message) {
  const SessionLease* const lease = client_.session->lease();
  if (lease == nullptr) return execute(message);
  LeaseSession& gate = *lease->commands();
  if (!gate.begin_command()) return gate.over();
  struct End {
    LeaseSession& gate;
    ~End() { gate.end_command(); }
  };
  const End end{gate};
  return execute(message);
}

Status ClientConnection::execute(const session::Message& message) {
  const Command* const row = find_command(message.header.opcode);
  if (row == nullptr || wire::first_version(message.header.opcode) > client_.version) {
    return {
        Code::protocol_error,
        "opcode " + std::to_string(static_cast<int>(message.header.opcode)) + " is not a command"};
  }
  client_.session->counters().commands.add(row->opcode);
  if (row->handled_by == HandledBy::connection) return row->on_connection(client_, message);
  return execute_on_queue(*row, message);
}

Status ClientConnection::execute_on_queue(const Command& row, const session::Message& message) {
  const QueueId id = message.header.queue;
  const std::shared_ptr<SessionQueue> queue = client_.session->queue(id);
  if (!queue || queue->owner != client_.owner()) {
    return {Code::protocol_error, "command on queue " + std::to_string(id.value) +
                                      " (unknown, or made by another connection)"};
  }
  ++queue->submitted;
  if (queue->submitted - queue->granted > wire::kInitialCredits) {
    return {Code::protocol_error, "more than " + std::to_string(wire::kInitialCredits) +
                                      " commands in flight on one queue"};
  }
  // A synchronize or a mark counts as an owed reply.
  client_.channel->set_unsynchronized(row.opcode != Opcode::synchronize &&
                                      row.opcode != Opcode::mark);
  const QueueCommand command{message, queue};
  OB_RETURN_IF_ERROR(submit(row, command));
  if (queue->submitted - queue->announced < wire::kInitialCredits / 2) return {};
  return order_credits(client_, command);
}

// Returns a failure only if it ends the connection; others stick to the queue.
Status ClientConnection::submit(const Command& row, const QueueCommand& command) {
  SessionQueue& queue = *command.queue;
  if (row.on_failure == OnFailure::report) return row.on_queue(client_, command);
  if (!queue.failure.ok() && row.on_failure == OnFailure::skip) {
    return client_.channel->discard_payload();
  }
  const Status status = row.on_queue(client_, command);
  if (status.ok()) {
    if (row.counts_on_device) {
      queue.log->note(command.sequence(), queue.holds.is_last(queue.submitted));
    }
    return {};
  }
  if (status.code() == Code::protocol_error || status.code() == Code::connection_lost) {
    return status;
  }
  if (queue.failure.ok()) queue.fail(status, command.sequence());
  return client_.channel->discard_payload();
}

}  // namespace ob::daemon
