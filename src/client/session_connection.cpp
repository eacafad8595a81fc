#include "client/session_connection.hpp"

#include <string>

#include "client/inherited_connections.hpp"

namespace ob::client {

using wire::Opcode;

SessionConnection::SessionConnection(std::unique_ptr<Connection> connection, std::uint64_t first_id)
    : link_(std::move(connection), first_id), queues_(link_) {
  queues_.set_listener(*this);
  remember(link_.connection().stream());
}

SessionConnection::~SessionConnection() {
  if (!link_.broken() && link_.command(Opcode::goodbye, {}).ok()) {
    (void)link_.flush();  // the daemon frees everything in any case
  }
  forget(link_.connection().stream());
}

Result<QueueId> SessionConnection::create_queue() {
  const std::lock_guard lock(mutex_);
  return queues_.create();
}

Status SessionConnection::destroy_queue(QueueId queue) {
  const std::lock_guard lock(mutex_);
  return queues_.destroy(queue);
}

Status SessionConnection::set_accuracy(QueueId queue, Accuracy accuracy) {
  const std::lock_guard lock(mutex_);
  return queues_.set_accuracy(queue, accuracy);
}

std::uint64_t SessionConnection::next_id() {
  const std::lock_guard lock(mutex_);
  return link_.next_id();
}

Result<std::uint64_t> SessionConnection::command(Opcode opcode, std::span<const std::byte> body) {
  const std::lock_guard lock(mutex_);
  OB_RETURN_IF_ERROR(link_.usable());
  return link_.command(opcode, {}, body);
}

Status SessionConnection::flush() {
  const std::lock_guard lock(mutex_);
  return link_.flush();
}

void SessionConnection::note_read(std::uint64_t sequence) noexcept {
  if (sequence > read_.load(std::memory_order_relaxed)) {
    read_.store(sequence, std::memory_order_release);  // under the lock, so by one thread at a time
  }
}

Status SessionConnection::wait_read(std::uint64_t sequence) {
  if (sequence <= read_.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(mutex_);
  if (sequence <= read_.load(std::memory_order_relaxed)) return {};
  OB_RETURN_IF_ERROR(link_.usable());
  const std::uint64_t sent = link_.connection().next_sequence() - 1;
  const auto round_trip = link_.connection().ping();  // which the daemon reads after them
  OB_RETURN_IF_ERROR(link_.note(round_trip.status()));
  note_read(sent);
  return {};
}

std::optional<QueueReport> SessionConnection::await(QueueId queue, bool clear,
                                                    transport::Deadline deadline) {
  const std::lock_guard lock(mutex_);
  if (link_.usable().ok() && queues_.is_idle(queue)) return queues_.report(queue, clear);
  const auto passed = queues_.pass(queue, deadline);
  if (!passed.ok()) {
    QueueReport failure;
    failure.status = passed.status();
    return failure;
  }
  if (!*passed) return std::nullopt;
  note_read(queues_.reached(queue));
  return queues_.report(queue, clear);
}

Result<QueueMark> SessionConnection::mark(QueueId queue) {
  const std::lock_guard lock(mutex_);
  return queues_.mark(queue);
}

Result<MappedSegment> SessionConnection::map(BufferId buffer, std::uint64_t size_bytes) {
  const std::lock_guard lock(mutex_);
  OB_RETURN_IF_ERROR(link_.usable());
  OB_ASSIGN_OR_RETURN(const std::uint64_t asked,
                      link_.command(Opcode::locate, {}, wire::Locate{buffer}));
  const auto where = link_.connection().wait_location(asked);
  if (!where.ok()) return link_.note(where.status());
  if (where->code != Code::ok) {
    return Status(where->code,
                  std::string("the daemon cannot map the buffer (") + to_string(where->code) + ")");
  }
  auto segment = MappedSegment::receive(link_.connection().stream(), *where, size_bytes);
  if (!segment.ok()) return link_.note(segment.status());
  return segment;
}

}  // namespace ob::client
