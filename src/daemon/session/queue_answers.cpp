#include "daemon/session/queue_answers.hpp"

namespace ob::daemon {
namespace {

// Returns the number of the queue's commands up to `command` that the client does not know to be
// done.
std::uint32_t grant(SessionQueue& queue, std::uint64_t command) {
  return static_cast<std::uint32_t>(command - queue.granted.exchange(command));
}

}  // namespace

wire::Outcome QueueAnswer::outcome(const QueueReport& report) const {
  const Status& first = report.status.ok() ? failure : report.status;
  wire::Outcome outcome;
  outcome.code = first.code();
  outcome.message = first.message();
  outcome.failed_sequence = report.status.ok() ? failed_sequence : queue->log->first_failed(report);
  outcome.compute_ns = report.compute_ns;
  outcome.plan_ns = report.plan_ns;
  outcome.waited_ns = report.waited_ns;
  outcome.credits = grant(*queue, command);
  queue->note_told(first, outcome.failed_sequence);
  return outcome;
}

QueueAnswer begin_answer(ClientContext& client, const QueueCommand& command) {
  const auto& queue = command.queue;
  queue->announced = queue->submitted;
  return {client.channel,     queue,          queue->submitted,      command.id(),
          command.sequence(), queue->failure, queue->failed_sequence};
}

Status order_credits(ClientContext& client, const QueueCommand& command) {
  const auto& queue = command.queue;
  queue->announced = queue->submitted;
  return client.session->device().on_reached(
      queue->local, false,
      [channel = client.channel, queue, id = command.id(),
       reached = queue->submitted](const QueueReport& report) {
        answer_or_cut(*channel, [&] {
          queue->reach(reached);
          (void)queue->log->first_failed(report);  // while the log still has its sequence
          (void)channel->replies().reply(wire::Opcode::credit, id, 0,
                                         wire::Credit{grant(*queue, reached)});
        });
      });
}

}  // namespace ob::daemon
