#include "client/daemon_link.hpp"

namespace ob::client {
namespace {

bool breaks_connection(const Status& status) noexcept {
  switch (status.code()) {
    case Code::connection_lost:
    case Code::protocol_error:
    case Code::deadline_exceeded: return true;
    default: return false;
  }
}

}  // namespace

Status DaemonLink::usable() const {
  if (!broken_) return {};
  return Status(Code::connection_lost, "connection to " + connection_->address() + " is broken");
}

Status DaemonLink::note(Status status) noexcept {
  if (breaks_connection(status)) broken_ = true;
  return status;
}

Result<std::uint64_t> DaemonLink::command(wire::Opcode opcode, QueueId queue,
                                          std::span<const std::byte> body) {
  auto sent = connection_->command(opcode, queue, body);
  if (!sent.ok()) return note(sent.status());
  return sent;
}

Status DaemonLink::flush() {
  OB_RETURN_IF_ERROR(usable());
  return note(connection_->flush());
}

}  // namespace ob::client
