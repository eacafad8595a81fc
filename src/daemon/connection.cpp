#include "daemon/connection.hpp"

#include <bit>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "routines/codec.hpp"
#include "wire/codec.hpp"

namespace ob::daemon {
namespace {

using transport::Clock;
using wire::Opcode;

constexpr auto kHandshakeTime = std::chrono::seconds(10);
constexpr auto kIdleTime = std::chrono::hours(24);

// The failure of a queue as its replies report it: what was never submitted came after what the device saw fail.
wire::Outcome outcome_of(const QueueReport& report, const Status& unsubmitted,
                         std::uint64_t unsubmitted_sequence) {
  const Status& first = report.status.ok() ? unsubmitted : report.status;
  wire::Outcome outcome;
  outcome.code = first.code();
  outcome.message = first.message();
  outcome.failed_sequence = report.status.ok() ? unsubmitted_sequence : 0;
  outcome.compute_ns = report.compute_ns;
  outcome.plan_ns = report.plan_ns;
  return outcome;
}

// Commands of the queue up to `command` are done; returns how many of them the client has not been told of.
std::uint32_t grant(SessionQueue& queue, std::uint64_t command) {
  queue.reached = command;
  return static_cast<std::uint32_t>(command - queue.granted.exchange(command));
}

}  // namespace

Connection::Connection(std::unique_ptr<transport::Stream> stream, SessionDirectory& directory)
    : stream_(std::move(stream)), directory_(directory), receiver_(*stream_), replies_(*stream_) {}

Status Connection::run() {
  replies_.adopt_io_thread();
  const Status status = serve();
  if (status.code() == Code::protocol_error) {  // tell the client before leaving
    wire::Outcome outcome;
    outcome.code = status.code();
    outcome.message = status.message();
    if (replies_.reply(Opcode::failed, {}, 0, outcome).ok()) (void)replies_.flush();
  }
  stream_->shut_down();
  session_.reset();  // waits for the queues; whoever still answers finds the stream shut
  return status;
}

// --- bytes ----------------------------------------------------------------------------------------------------

Status Connection::wait_for_bytes() {
  OB_RETURN_IF_ERROR(replies_.flush());
  resting_ = receiver_.idle();
  const Status status = stream_->wait(true, false, Clock::now() + kIdleTime);
  resting_ = false;
  return status.code() == Code::deadline_exceeded ? Status() : status;
}

Status Connection::take_payload(const Layout& destination) {
  Layout::Cursor cursor(destination);
  for (;;) {
    OB_ASSIGN_OR_RETURN(const bool complete, receiver_.poll_payload(cursor));
    if (complete) return {};
    OB_RETURN_IF_ERROR(wait_for_bytes());
  }
}

Status Connection::drop_payload() {
  for (;;) {
    OB_ASSIGN_OR_RETURN(const bool complete, receiver_.discard_payload());
    if (complete) return {};
    OB_RETURN_IF_ERROR(wait_for_bytes());
  }
}

// --- handshake ------------------------------------------------------------------------------------------------

Status Connection::refuse(Code code, const std::string& message) {
  wire::Refused refused;
  refused.code = code;
  refused.message = message;
  OB_RETURN_IF_ERROR(replies_.reply(Opcode::refused, {}, 0, refused));
  OB_RETURN_IF_ERROR(replies_.flush());
  return Status(code, "refused: " + message);
}

Status Connection::shake_hands() {
  const auto deadline = Clock::now() + kHandshakeTime;
  Result<std::optional<session::Message>> message = receiver_.poll();
  while (message.ok() && !*message) {
    OB_RETURN_IF_ERROR(stream_->wait(true, false, deadline));
    message = receiver_.poll();
  }
  OB_RETURN_IF_ERROR(message.status());
  if ((*message)->header.opcode != Opcode::hello || (*message)->header.payload_bytes != 0) {
    return Status(Code::protocol_error, "the first message must be hello");
  }
  OB_ASSIGN_OR_RETURN(const wire::Hello hello, wire::decode<wire::Hello>((*message)->body));
  client_ = hello.client;
  if (hello.version != wire::kVersion) {
    return refuse(Code::version_mismatch,
                  "client speaks version " + std::to_string(hello.version) + ", this daemon version " +
                      std::to_string(wire::kVersion) + " (install matching releases)");
  }
  const std::uint8_t big_endian = std::endian::native == std::endian::big ? 1 : 0;
  if (hello.big_endian != big_endian) {
    return refuse(Code::unsupported, "client has the other byte order (not supported yet)");
  }
  auto session = directory_.open(hello);
  if (!session.ok()) return refuse(session.status().code(), session.status().message());
  session_ = *session;
  const DeviceInfo& info = session_->device().info();
  wire::Welcome welcome;
  welcome.big_endian = big_endian;
  welcome.host_visible = info.host_visible ? 1 : 0;
  welcome.token = session_->token();
  welcome.device = session_->device_index();
  welcome.devices = directory_.device_count();
  welcome.memory_bytes = info.memory_bytes;
  welcome.gflops_double = info.gflops_double;
  welcome.backend = info.backend;
  welcome.description = info.description;
  OB_RETURN_IF_ERROR(replies_.reply(Opcode::welcome, {}, 0, welcome));
  return replies_.flush();
}

// --- commands -------------------------------------------------------------------------------------------------

Status Connection::serve() {
  OB_RETURN_IF_ERROR(shake_hands());
  for (;;) {
    OB_ASSIGN_OR_RETURN(const auto message, receiver_.poll());
    if (!message) {
      OB_RETURN_IF_ERROR(wait_for_bytes());
      continue;
    }
    if (message->header.opcode == Opcode::goodbye) return {};
    OB_RETURN_IF_ERROR(dispatch(*message));
    if (receiver_.payload_left() != 0) {
      return Status(Code::protocol_error, "payload on a message that has none");
    }
  }
}

Status Connection::dispatch(const session::Message& message) {
  const wire::Header& header = message.header;
  if (header.opcode == Opcode::ping) {
    OB_RETURN_IF_ERROR(replies_.send(Opcode::pong, {}, header.sequence, {}));
    return replies_.flush();
  }
  if (!wire::uses_credit(header.opcode)) return on_object_command(message);
  const std::shared_ptr<SessionQueue> queue = session_->queue(header.queue);
  if (!queue) {
    return Status(Code::protocol_error, "command on unknown queue " + std::to_string(header.queue.value));
  }
  ++queue->submitted;
  if (queue->submitted - queue->granted > wire::kInitialCredits) {
    return Status(Code::protocol_error, "more than " + std::to_string(wire::kInitialCredits) +
                                            " commands in flight on one queue");
  }
  OB_RETURN_IF_ERROR(on_queue_command(message, queue));
  if (queue->submitted - queue->announced < wire::kInitialCredits / 2) return {};
  return announce_credits(header.queue, queue);
}

Status Connection::announce_credits(QueueId id, const std::shared_ptr<SessionQueue>& queue) {
  const std::uint64_t command = queue->announced = queue->submitted;
  auto self = shared_from_this();
  return session_->device().on_reached(queue->local, false, [self, queue, id, command](const QueueReport&) {
    const std::uint32_t credits = grant(*queue, command);
    (void)self->replies_.reply(Opcode::credit, id, 0, wire::Credit{credits});
  });
}

// Queue commands return a Status only if the connection is lost; their own failures stick to the queue.
Status Connection::on_queue_command(const session::Message& message,
                                    const std::shared_ptr<SessionQueue>& queue) {
  const wire::Header& header = message.header;
  if (header.opcode == Opcode::read) return on_read(message, queue);
  if (header.opcode == Opcode::synchronize) return on_synchronize(message, queue);
  if (!queue->failure.ok()) return drop_payload();
  Status status;
  switch (header.opcode) {
    case Opcode::write: status = on_write(message, queue); break;
    case Opcode::copy: status = on_copy(message, queue); break;
    case Opcode::call: status = on_call(message, queue); break;
    case Opcode::execute_plan: status = on_execute(message, queue); break;
    default: status = on_event(message, queue); break;
  }
  if (status.ok()) return {};
  if (status.code() == Code::protocol_error || status.code() == Code::connection_lost) return status;
  queue->failure = status;
  queue->failed_sequence = header.sequence;
  return drop_payload();
}

Status Connection::on_object_command(const session::Message& message) {
  const wire::Header& header = message.header;
  if (header.payload_bytes != 0) return Status(Code::protocol_error, "payload on a message that has none");
  Status status;
  switch (header.opcode) {
    case Opcode::create_queue: return session_->create_queue(header.queue);
    case Opcode::destroy_queue: session_->destroy_queue(header.queue); return {};
    case Opcode::locate: return on_locate(message);
    case Opcode::allocate: {
      OB_ASSIGN_OR_RETURN(const auto allocate, wire::decode<wire::Allocate>(message.body));
      status = session_->allocate(allocate.buffer, allocate.bytes);
      break;
    }
    case Opcode::free: {
      OB_ASSIGN_OR_RETURN(const auto free, wire::decode<wire::Free>(message.body));
      session_->free(free.buffer);
      return {};
    }
    case Opcode::make_plan: {
      OB_ASSIGN_OR_RETURN(const DecodedPlan decoded, decode_plan(message.body));
      status = session_->make_plan(decoded.id, decoded.plan);
      break;
    }
    case Opcode::destroy_plan: {
      OB_ASSIGN_OR_RETURN(const auto destroy, wire::decode<wire::DestroyPlan>(message.body));
      session_->destroy_plan(destroy.plan);
      return {};
    }
    default:
      return Status(Code::protocol_error,
                    "opcode " + std::to_string(static_cast<int>(header.opcode)) + " is not a command");
  }
  if (status.ok() || status.code() == Code::protocol_error) return status;
  // Failed one-way commands without a queue of their own stick to the queue they name.
  const std::shared_ptr<SessionQueue> queue = session_->queue(header.queue);
  if (queue && queue->failure.ok()) {
    queue->failure = status;
    queue->failed_sequence = header.sequence;
  }
  return {};
}

Status Connection::on_locate(const session::Message& message) {
  OB_ASSIGN_OR_RETURN(const auto locate, wire::decode<wire::Locate>(message.body));
  wire::Location location;
  const std::shared_ptr<SessionQueue> queue = session_->queue(message.header.queue);
  const auto buffer = session_->buffer(locate.buffer);
  SegmentView view;
  if (buffer.ok() && stream_->shares_memory()) {
    auto segment = session_->device().segment(buffer->local);
    if (segment.ok()) view = *segment;
    location.code = segment.status().code();
  } else {
    // An unplaced buffer is the queue's pending failure (out of memory, most likely); locate reports and clears it.
    location.code = buffer.ok() ? Code::unsupported : Code::invalid_argument;
    if (queue && !queue->failure.ok() && !buffer.ok()) {
      location.code = queue->failure.code();
      queue->failure = Status();
    }
  }
  location.offset_bytes = view.offset_bytes;
  location.segment_bytes = view.segment_bytes;
  OB_RETURN_IF_ERROR(replies_.reply(Opcode::location, message.header.queue, message.header.sequence, location));
  return location.code == Code::ok ? stream_->send_segment(view.fd) : Status();
}

// Holds the connection until no submitted command uses the buffer: its memory is about to change.
Status Connection::wait_until_unused(BufferId id) {
  for (const SessionBuffer::Use& use : session_->open_uses(id)) {
    struct Gate {
      std::mutex mutex;
      std::condition_variable opened;
      bool open = false;
    };
    auto gate = std::make_shared<Gate>();
    OB_RETURN_IF_ERROR(replies_.flush());  // the queue may be waiting for its client to take them
    OB_RETURN_IF_ERROR(
        session_->device().on_reached(use.queue->local, false, [gate](const QueueReport&) {
          const std::lock_guard lock(gate->mutex);
          gate->open = true;
          gate->opened.notify_one();
        }));
    std::unique_lock lock(gate->mutex);
    gate->opened.wait(lock, [&] { return gate->open; });
  }
  return {};
}

Status Connection::on_write(const session::Message& message, const std::shared_ptr<SessionQueue>&) {
  OB_ASSIGN_OR_RETURN(const auto write, wire::decode<wire::Write>(message.body));
  if (packed_bytes(write.region) != message.header.payload_bytes) {
    return Status(Code::protocol_error, "write's payload is not as long as its region");
  }
  OB_ASSIGN_OR_RETURN(const SessionBuffer buffer, session_->buffer(write.buffer));
  if (!fits(write.region, buffer.size_bytes)) {
    return Status(Code::invalid_argument, "write exceeds buffer " + std::to_string(write.buffer.value) +
                                              " of " + std::to_string(buffer.size_bytes) + " bytes");
  }
  std::byte* memory = session_->device().host_view(buffer.local);
  if (memory == nullptr) {
    return Status(Code::unsupported, "this device's memory cannot be written from the network yet");
  }
  OB_RETURN_IF_ERROR(wait_until_unused(write.buffer));
  return take_payload(Layout::matrix(memory, write.region));
}

Status Connection::on_read(const session::Message& message, const std::shared_ptr<SessionQueue>& queue) {
  OB_ASSIGN_OR_RETURN(const auto read, wire::decode<wire::Read>(message.body));
  std::byte* memory = nullptr;
  if (queue->failure.ok()) {
    Status status;
    const auto buffer = session_->use(read.buffer, queue);
    if (!buffer.ok()) {
      status = buffer.status();
    } else if (!fits(read.region, session_->buffer(read.buffer)->size_bytes)) {
      status = Status(Code::invalid_argument, "read exceeds buffer " + std::to_string(read.buffer.value));
    } else if (memory = session_->device().host_view(*buffer); memory == nullptr) {
      status = Status(Code::unsupported, "this device's memory cannot be read from the network yet");
    }
    queue->failure = status;
    queue->failed_sequence = message.header.sequence;
  }
  const std::uint64_t command = queue->announced = queue->submitted;
  ++replies_.owed;
  auto self = shared_from_this();
  const auto answer = [self, queue, command, memory, region = read.region, id = message.header.queue,
                       sequence = message.header.sequence, failure = queue->failure,
                       failed = queue->failed_sequence](const QueueReport& report) {
    wire::Outcome outcome = outcome_of(report, failure, failed);
    outcome.credits = grant(*queue, command);
    const bool deliver = outcome.code == Code::ok;
    (void)self->replies_.reply(Opcode::data, id, sequence, outcome,
                               deliver ? Layout::matrix(memory, region) : Layout());
    --self->replies_.owed;
  };
  return session_->device().on_reached(queue->local, false, answer);
}

Status Connection::on_synchronize(const session::Message& message,
                                  const std::shared_ptr<SessionQueue>& queue) {
  const std::uint64_t command = queue->announced = queue->submitted;
  ++replies_.owed;
  auto self = shared_from_this();
  const auto answer = [self, queue, command, id = message.header.queue, sequence = message.header.sequence,
                       failure = std::exchange(queue->failure, Status()),
                       failed = std::exchange(queue->failed_sequence, 0)](const QueueReport& report) {
    wire::Outcome outcome = outcome_of(report, failure, failed);
    outcome.credits = grant(*queue, command);
    (void)self->replies_.reply(Opcode::done, id, sequence, outcome);
    --self->replies_.owed;
  };
  return session_->device().on_reached(queue->local, true, answer);
}

Status Connection::on_copy(const session::Message& message, const std::shared_ptr<SessionQueue>& queue) {
  OB_ASSIGN_OR_RETURN(const auto copy, wire::decode<wire::Copy>(message.body));
  OB_ASSIGN_OR_RETURN(const BufferId source, session_->use(copy.source, queue));
  OB_ASSIGN_OR_RETURN(const BufferId destination, session_->use(copy.destination, queue));
  return session_->device().copy(queue->local, source, copy.from, destination, copy.to);
}

Status Connection::on_call(const session::Message& message, const std::shared_ptr<SessionQueue>& queue) {
  OB_ASSIGN_OR_RETURN(DecodedCall call, decode_call(message.body));
  for (std::size_t i = 0; i < call.routine->kinds.size(); ++i) {
    const Kind kind = call.routine->kinds[i];
    if (kind != Kind::matrix && kind != Kind::index_vector && kind != Kind::info) continue;
    BufferId& buffer = call.arguments[i].device.buffer;
    OB_ASSIGN_OR_RETURN(buffer, session_->use(buffer, queue));
  }
  return session_->device().call(queue->local, *call.routine, call.arguments);
}

Status Connection::on_execute(const session::Message& message, const std::shared_ptr<SessionQueue>& queue) {
  OB_ASSIGN_OR_RETURN(const auto execute, wire::decode<wire::ExecutePlan>(message.body));
  OB_ASSIGN_OR_RETURN(const PlanId plan, session_->plan(execute.plan));
  OB_ASSIGN_OR_RETURN(const BufferId input, session_->use(execute.input, queue));
  OB_ASSIGN_OR_RETURN(const BufferId output, session_->use(execute.output, queue));
  return session_->device().execute(queue->local, plan, {input, execute.input_offset_bytes},
                                    {output, execute.output_offset_bytes});
}

Status Connection::on_event(const session::Message& message, const std::shared_ptr<SessionQueue>& queue) {
  if (message.header.opcode == Opcode::record) {
    OB_ASSIGN_OR_RETURN(const auto record, wire::decode<wire::Record>(message.body));
    OB_ASSIGN_OR_RETURN(const EventId event, session_->event(record.event));
    return session_->device().record(queue->local, event);
  }
  OB_ASSIGN_OR_RETURN(const auto wait, wire::decode<wire::Wait>(message.body));
  OB_ASSIGN_OR_RETURN(const EventId event, session_->event(wait.event));
  return session_->device().wait(queue->local, event);
}

}  // namespace ob::daemon
