#include "daemon/session/compute_commands.hpp"

#include "daemon/session/buffer_waits.hpp"
#include "daemon/session/queue_answers.hpp"
#include "routines/codec.hpp"
#include "wire/byte_swap.hpp"
#include "wire/codec.hpp"

namespace ob::daemon {

Status on_copy(ClientContext& client, const QueueCommand& command) {
  OB_ASSIGN_OR_RETURN(const auto copy, wire::decode<wire::Copy>(command.message.body));
  Session& session = *client.session;
  OB_ASSIGN_OR_RETURN(const auto source, session.use(copy.source, command.queue));
  OB_ASSIGN_OR_RETURN(const auto destination, session.use(copy.destination, command.queue));
  return session.device().copy(command.queue->local, source->local, copy.from, destination->local,
                               copy.to);
}

Status on_fill(ClientContext& client, const QueueCommand& command) {
  OB_ASSIGN_OR_RETURN(auto fill, wire::decode<wire::Fill>(command.message.body));
  OB_RETURN_IF_ERROR(client.byte_order.check(fill.region));
  const std::uint32_t word_bytes = client.byte_order.swapped_word_bytes(fill.region);
  const auto element = std::span(fill.element).first(fill.region.element_bytes);
  if (word_bytes > 1) {
    wire::copy_swapped(element.data(), element.data(), element.size(), word_bytes, element.size());
  }
  Session& session = *client.session;
  OB_ASSIGN_OR_RETURN(const auto buffer, session.use(fill.buffer, command.queue));
  return session.device().fill(command.queue->local, buffer->local, fill.region, element);
}

Status on_call(ClientContext& client, const QueueCommand& command) {
  OB_ASSIGN_OR_RETURN(DecodedCall call, decode_call(command.message.body));
  Session& session = *client.session;
  for (std::size_t i = 0; i < call.routine->kinds.size(); ++i) {
    if (!is_memory(call.routine->kinds[i])) continue;
    BufferId& buffer = call.arguments[i].device.buffer;
    if (!buffer) continue;  // an unreferenced operand, checked by the device
    OB_ASSIGN_OR_RETURN(const auto memory, session.use(buffer, command.queue));
    buffer = memory->local;
  }
  return session.device().call(command.queue->local, *call.routine, call.arguments);
}

Status on_execute_plan(ClientContext& client, const QueueCommand& command) {
  OB_ASSIGN_OR_RETURN(const auto execute, wire::decode<wire::ExecutePlan>(command.message.body));
  Session& session = *client.session;
  OB_ASSIGN_OR_RETURN(const PlanId plan, session.plan(execute.plan));
  OB_ASSIGN_OR_RETURN(const auto input, session.use(execute.input, command.queue));
  OB_ASSIGN_OR_RETURN(const auto output, session.use(execute.output, command.queue));
  return session.device().execute(command.queue->local, plan,
                                  {input->local, execute.input_offset_bytes},
                                  {output->local, execute.output_offset_bytes});
}

Status on_record(ClientContext& client, const QueueCommand& command) {
  OB_ASSIGN_OR_RETURN(const auto record, wire::decode<wire::Record>(command.message.body));
  OB_ASSIGN_OR_RETURN(const EventId event, client.session->record(record.event, nullptr));
  return client.session->device().record(command.queue->local, event);
}

Status on_wait(ClientContext& client, const QueueCommand& command) {
  OB_ASSIGN_OR_RETURN(const auto wait, wire::decode<wire::Wait>(command.message.body));
  OB_ASSIGN_OR_RETURN(const auto event, client.session->event(wait.event));
  Device& device = client.session->device();
  if (event.transfer != nullptr) return hold_queue(device, command, event.transfer);
  return device.wait(command.queue->local, event.local);
}

Status on_hold(ClientContext& client, const QueueCommand& command) {
  OB_ASSIGN_OR_RETURN(const auto hold, wire::decode<wire::Hold>(command.message.body));
  OB_ASSIGN_OR_RETURN(auto gate, client.session->gates().hold(hold.gate));
  return hold_queue(client.session->device(), command, std::move(gate));
}

Status on_release(ClientContext& client, const session::Message& message) {
  OB_ASSIGN_OR_RETURN(const auto release, wire::decode<wire::Release>(message.body));
  Status outcome;
  if (release.code != Code::ok) {
    outcome =
        Status(release.code, "the event of another device, for which the queue waits, failed");
  }
  return client.session->gates().release(release.gate, std::move(outcome));
}

Status on_mark(ClientContext& client, const QueueCommand& command) {
  return order_mark(client, command,
                    [answer = begin_answer(client, command)](const QueueMark& mark) {
                      answer.finish();
                      (void)answer.channel->replies().reply(
                          wire::Opcode::reached, answer.id, answer.sequence,
                          wire::Reached{mark.clock_ns, answer.outcome(mark.report)});
                    });
}

// The session lives longer than the answer: a connection releases it after its queues have ended.
Status on_synchronize(ClientContext& client, const QueueCommand& command) {
  QueueAnswer answer = begin_answer(client, command);
  command.queue->fail({}, 0);
  return order_answer(
      client, command, true,
      [answer = std::move(answer), &session = *client.session](const QueueReport& report) {
        answer.finish();
        wire::Outcome outcome = answer.outcome(report);
        if (!report.status.ok() && report.status.code() != Code::busy) session.withdraw_plans();
        session.forget_released();
        answer.queue->log->clear_failure();
        outcome.keep_bytes = session.keep_bytes();
        (void)answer.channel->replies().reply(wire::Opcode::done, answer.id, answer.sequence,
                                              outcome);
      });
}

}  // namespace ob::daemon
