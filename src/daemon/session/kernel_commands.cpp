#include "daemon/session/kernel_commands.hpp"

#include <utility>
#include <vector>

#include "device/kernels/kernel_codec.hpp"
#include "wire/codec.hpp"

namespace ob::daemon {
namespace {

using wire::Opcode;

// Sends the answer to load_module. The channel counts as busy until then.
ModuleAnswers::Send answer_to(ClientContext& client, std::uint64_t sequence) {
  return [channel = client.channel, busy = client.channel->hold_busy(),
          sequence](const ModuleReport& report) {
    wire::ModuleAnswer answer;
    auto payload = report_payload(report);
    const Status& status = report.status.ok() ? payload.status() : report.status;
    answer.code = status.code();
    answer.message = status.message();
    if (!payload.ok()) payload = std::vector<std::byte>();
    if (payload->size() >= report.log.size()) {
      answer.log_bytes = static_cast<std::uint32_t>(report.log.size());
    }
    if (status.ok()) answer.kernels = static_cast<std::uint32_t>(report.kernels.size());
    if (!status.ok()) payload->resize(answer.log_bytes);
    (void)channel->replies().reply(Opcode::module, {}, sequence, answer,
                                   Layout::bytes(payload->data(), payload->size()));
  };
}

// Errors: those that belong to the module
Result<ModuleSource> receive(ClientContext& client, const wire::LoadModule& message,
                             Reservation& text) {
  OB_RETURN_IF_ERROR(client.session->modules().may_load(message));
  if (client.byte_order.differs()) {
    return Status(Code::unsupported,
                  "kernels do not run for a client of the other byte order (their numbers are not "
                  "swapped)");
  }
  OB_ASSIGN_OR_RETURN(text, client.session->reserve_host(message.payload_bytes()));
  std::vector<std::byte> payload(message.payload_bytes());
  OB_RETURN_IF_ERROR(
      client.channel->receive_payload(Layout::bytes(payload.data(), payload.size()), 1));
  return read_module(message, payload);
}

bool ends_connection(const Status& status) {
  return status.code() == Code::protocol_error || status.code() == Code::connection_lost;
}

}  // namespace

Status on_load_module(ClientContext& client, const session::Message& message) {
  OB_ASSIGN_OR_RETURN(const auto load, wire::decode<wire::LoadModule>(message.body));
  const std::uint64_t sequence = message.header.sequence;
  if (load.payload_bytes() != message.header.payload_bytes) {
    return {Code::protocol_error, "load_module's payload is not as long as its parts"};
  }
  Reservation text;
  auto source = receive(client, load, text);
  if (!source.ok()) {
    if (ends_connection(source.status())) return source.status();
    OB_RETURN_IF_ERROR(client.channel->discard_payload());
  }
  return client.session->modules().load(load.module, std::move(source), std::move(text),
                                        answer_to(client, sequence));
}

Status on_unload_module(ClientContext& client, const session::Message& message) {
  OB_ASSIGN_OR_RETURN(const auto unload, wire::decode<wire::UnloadModule>(message.body));
  client.session->modules().unload(unload.module);
  return {};
}

Status on_launch(ClientContext& client, const QueueCommand& command) {
  OB_ASSIGN_OR_RETURN(const auto message, wire::decode<wire::Launch>(command.message.body));
  Session& session = *client.session;
  KernelLaunch launch;
  OB_ASSIGN_OR_RETURN(launch.module, session.modules().local(message.module));
  std::vector<KernelArgument> arguments = read_arguments(message);
  for (KernelArgument& argument : arguments) {
    if (argument.kind != ParameterKind::buffer) continue;
    OB_ASSIGN_OR_RETURN(const auto memory, session.use(argument.place.buffer, command.queue));
    argument.place.buffer = memory->local;
  }
  launch.kernel = message.kernel;
  launch.groups = message.groups;
  launch.group_size = message.group_size;
  launch.arguments = arguments;
  return session.device().launch(command.queue->local, launch);
}

}  // namespace ob::daemon
