#include "daemon/server/connection.hpp"

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "base/chunks.hpp"
#include "routines/codec.hpp"
#include "wire/byte_swap.hpp"
#include "wire/codec.hpp"

namespace ob::daemon {
namespace {

using transport::Clock;
using wire::Opcode;

// For a client to hear why it is cut off before unread bytes reset its connection.
constexpr auto kLinger = std::chrono::milliseconds(250);
// What idle sessions held is free when their queues have ended: soon, if nobody uses them.
constexpr auto kGivingWay = std::chrono::seconds(1);
constexpr auto kLookAgain = std::chrono::milliseconds(1);

// The failure of a queue as its replies report it: what was never submitted came after what the
// device saw fail.
// @pre called by the queue's answers, in its order
wire::Outcome outcome_of(SessionQueue& queue, const QueueReport& report, const Status& unsubmitted,
                         std::uint64_t unsubmitted_sequence) {
  const Status& first = report.status.ok() ? unsubmitted : report.status;
  wire::Outcome outcome;
  outcome.code = first.code();
  outcome.message = first.message();
  outcome.failed_sequence =
      report.status.ok() ? unsubmitted_sequence : queue.failed_on_device(report);
  outcome.compute_ns = report.compute_ns;
  outcome.plan_ns = report.plan_ns;
  outcome.waited_ns = report.waited_ns;
  return outcome;
}

// Commands of the queue up to `command` are done; returns how many of them the client has not been
// told of.
std::uint32_t grant(SessionQueue& queue, std::uint64_t command) {
  queue.reached = command;
  return static_cast<std::uint32_t>(command - queue.granted.exchange(command));
}

}  // namespace

Connection::Connection(std::unique_ptr<transport::Stream> stream, SessionDirectory& directory)
    : stream_(std::make_unique<transport::StripedStream>(std::move(stream))),
      directory_(directory),
      receiver_(*stream_),
      replies_(*stream_) {}

Status Connection::run() {
  replies_.adopt_io_thread();
  Status status = serve();
  gone_ = true;
  if (!status.ok() && status.code() != Code::connection_lost && may_explain_) explain(status);
  stream_->shut_down();
  if (session_) session_->destroy_queues_of(this);  // whoever still answers finds the stream shut
  session_name_ = nullptr;
  session_.reset();
  return status;
}

bool Connection::at_rest() const {
  const Mailbox* const mailbox = delivers_to_;
  return resting_ && replies_.owed == 0 && (mailbox == nullptr || mailbox->at_rest());
}

// Tells the client why it is cut off.
void Connection::explain(const Status& why) {
  wire::Outcome outcome;
  outcome.code = why.code();
  outcome.message = why.message();
  if (!replies_.reply(Opcode::failed, {}, 0, outcome).ok() || !replies_.flush().ok()) return;
  const auto until = Clock::now() + kLinger;
  std::array<std::byte, 4096> unread;
  const iovec part{unread.data(), unread.size()};
  while (Clock::now() < until) {
    const auto received = stream_->try_receive({&part, 1});
    if (!received.ok()) return;
    if (*received == 0 && !stream_->wait(true, false, until).ok()) return;
  }
}

// --- bytes ---------------------------------------------------------------------------------------

Status Connection::wait_for_bytes() {
  OB_RETURN_IF_ERROR(replies_.flush());
  const auto now = Clock::now();
  resting_since_ = now;
  resting_ = receiver_.idle() && !unanswered_;
  Status status = stream_->wait(true, false, now + directory_.longest_idle());
  const bool idle = at_rest();
  resting_ = false;
  if (status.code() != Code::deadline_exceeded) return status;
  return idle ? Status(Code::deadline_exceeded, "the connection was not used for long") : Status();
}

Status Connection::take_payload(const Layout& destination, std::uint32_t swapped_word_bytes) {
  Layout::Cursor cursor(destination);
  for (;;) {
    OB_ASSIGN_OR_RETURN(const bool complete, receiver_.poll_payload(cursor, swapped_word_bytes));
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

// --- commands ------------------------------------------------------------------------------------

Status Connection::serve() {
  OB_RETURN_IF_ERROR(shake_hands());
  if (!session_) return {};
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
  if (!queue || queue->owner != this) {
    return Status(Code::protocol_error, "command on queue " + std::to_string(header.queue.value) +
                                            " (unknown, or made by another connection)");
  }
  ++queue->submitted;
  if (queue->submitted - queue->granted > wire::kInitialCredits) {
    return Status(Code::protocol_error, "more than " + std::to_string(wire::kInitialCredits) +
                                            " commands in flight on one queue");
  }
  unanswered_ = header.opcode != Opcode::synchronize;  // synchronize counts as owed
  OB_RETURN_IF_ERROR(on_queue_command(message, queue));
  if (queue->submitted - queue->announced < wire::kInitialCredits / 2) return {};
  return announce_credits(header.queue, queue);
}

Status Connection::announce_credits(QueueId id, const std::shared_ptr<SessionQueue>& queue) {
  const std::uint64_t command = queue->announced = queue->submitted;
  auto self = shared_from_this();
  return session_->device().on_reached(
      queue->local, false, [self, queue, id, command](const QueueReport& report) {
        (void)queue->failed_on_device(report);  // while its sequence is still remembered
        const std::uint32_t credits = grant(*queue, command);
        (void)self->replies_.reply(Opcode::credit, id, 0, wire::Credit{credits});
      });
}

// Queue commands return a Status only if the connection is lost; their own failures stick to the
// queue.
Status Connection::on_queue_command(const session::Message& message,
                                    const std::shared_ptr<SessionQueue>& queue) {
  const wire::Header& header = message.header;
  if (header.opcode == Opcode::read) return on_read(message, queue);
  if (header.opcode == Opcode::digest) return on_digest(message, queue);
  if (header.opcode == Opcode::synchronize) return on_synchronize(message, queue);
  if (header.opcode == Opcode::receive) return on_receive(message, queue);
  // a peer message that is not sent must be missed
  if (!queue->failure.ok() && header.opcode != Opcode::send) return drop_payload();
  Status status;
  switch (header.opcode) {
    case Opcode::write: status = on_write(message, queue); break;
    case Opcode::copy: status = on_copy(message, queue); break;
    case Opcode::call: status = on_call(message, queue); break;
    case Opcode::execute_plan: status = on_execute(message, queue); break;
    case Opcode::send: status = on_send(message, queue); break;
    default: status = on_event(message, queue); break;
  }
  if (status.ok()) {
    const bool on_device = header.opcode != Opcode::write && header.opcode != Opcode::send;
    if (on_device) queue->note_on_device(header.sequence);
    return {};
  }
  if (status.code() == Code::protocol_error || status.code() == Code::connection_lost)
    return status;
  if (queue->failure.ok()) queue->fail(status, header.sequence);
  return drop_payload();
}

// Commands that belong to no queue. Those that fail leave an object that tells whoever uses it.
Status Connection::on_object_command(const session::Message& message) {
  const wire::Header& header = message.header;
  switch (header.opcode) {
    case Opcode::create_queue: return session_->create_queue(header.queue, this);
    case Opcode::destroy_queue:
      OB_RETURN_IF_ERROR(replies_.flush());  // this thread waits for the queue
      return session_->destroy_queue(header.queue, this);
    case Opcode::set_accuracy: {
      OB_ASSIGN_OR_RETURN(const auto set, wire::decode<wire::SetAccuracy>(message.body));
      return session_->set_accuracy(header.queue, this, set.accuracy);
    }
    case Opcode::locate: return on_locate(message);
    case Opcode::allocate: return on_allocate(message);
    case Opcode::free: {
      OB_ASSIGN_OR_RETURN(const auto free, wire::decode<wire::Free>(message.body));
      session_->free(free.buffer);
      return {};
    }
    case Opcode::open_mailbox:
    case Opcode::close_mailbox:
    case Opcode::connect_peer:
    case Opcode::disconnect_peer: return on_peer_command(message);
    case Opcode::make_plan: {
      OB_ASSIGN_OR_RETURN(const DecodedPlan decoded, decode_plan(message.body));
      return session_->make_plan(decoded.id, decoded.plan);
    }
    case Opcode::destroy_plan: {
      OB_ASSIGN_OR_RETURN(const auto destroy, wire::decode<wire::DestroyPlan>(message.body));
      session_->destroy_plan(destroy.plan);
      return {};
    }
    default:
      return Status(
          Code::protocol_error,
          "opcode " + std::to_string(static_cast<int>(header.opcode)) + " is not a command");
  }
}

Status Connection::on_allocate(const session::Message& message) {
  OB_ASSIGN_OR_RETURN(const auto allocate, wire::decode<wire::Allocate>(message.body));
  OB_RETURN_IF_ERROR(replies_.flush());  // the device may wait for memory that commands still use
  Status status = session_->allocate(allocate.buffer, allocate.bytes);
  if (status.code() == Code::out_of_memory) {
    OB_RETURN_IF_ERROR(wait_for(session_->open_uses_of_freed()));
    status = session_->allocate(allocate.buffer, allocate.bytes);
  }
  if (status.code() == Code::out_of_memory && session_->drop_idle_plans() > 0) {
    status = session_->allocate(allocate.buffer, allocate.bytes);
  }
  if (status.code() == Code::out_of_memory && allocate.bytes <= session_->memory()->room_bytes() &&
      directory_.make_room(*session_, allocate.bytes) > 0) {
    status = allocate_in_place_of_others(allocate);
  }
  const bool breaks_session =
      status.code() == Code::protocol_error || status.code() == Code::denied;
  return status.ok() || breaks_session ? status
                                       : session_->allocate_broken(allocate.buffer, status);
}

// Others were told to go: what they held comes free when their connections have ended.
Status Connection::allocate_in_place_of_others(const wire::Allocate& allocate) {
  const auto until = Clock::now() + kGivingWay;
  for (;;) {
    Status status = session_->allocate(allocate.buffer, allocate.bytes);
    if (status.code() != Code::out_of_memory || Clock::now() > until) return status;
    std::this_thread::sleep_for(kLookAgain);
  }
}

Status Connection::on_locate(const session::Message& message) {
  OB_ASSIGN_OR_RETURN(const auto locate, wire::decode<wire::Locate>(message.body));
  wire::Location location;
  const auto buffer = session_->buffer(locate.buffer);  // held until its descriptor is on its way
  Status status = buffer.status();
  if (status.ok() && !stream_->shares_memory())
    status = Status(Code::unsupported, "no shared memory");
  if (status.ok()) {
    auto segment = session_->device().segment(buffer->memory->local);
    status = segment.ok() ? stream_->send_segment(segment->fd) : segment.status();
    if (status.code() == Code::connection_lost) return status;
    if (status.ok()) {
      location.offset_bytes = segment->offset_bytes;
      location.segment_bytes = segment->segment_bytes;
    }
  }
  location.code = status.code();
  return replies_.reply(Opcode::location, message.header.queue, message.header.sequence, location);
}

Status Connection::show_life() {
  OB_RETURN_IF_ERROR(replies_.send(Opcode::pong, {}, 0, {}));
  return replies_.flush();
}

// Holds the connection until the commands are done.
Status Connection::wait_for(const std::vector<BufferUse>& uses) {
  for (const BufferUse& use : uses) {
    struct Gate {
      std::mutex mutex;
      std::condition_variable opened;
      bool open = false;
    };
    auto gate = std::make_shared<Gate>();
    OB_RETURN_IF_ERROR(replies_.flush());  // the queue may be waiting for its client to take them
    const Status asked =
        session_->device().on_reached(use.queue->local, false, [gate](const QueueReport&) {
          const std::lock_guard lock(gate->mutex);
          gate->open = true;
          gate->opened.notify_one();
        });
    if (!asked.ok()) continue;  // the queue was destroyed meanwhile, and waited for
    std::unique_lock lock(gate->mutex);
    while (!gate->opened.wait_for(lock, kSignOfLife, [&] { return gate->open; })) {
      lock.unlock();
      OB_RETURN_IF_ERROR(show_life());
      lock.lock();
    }
  }
  return {};
}

// Whoever receives the region's elements must know what to swap.
Status Connection::check_words(const Region& region) const {
  if (!other_byte_order_ || region.word_bytes != 0) return {};
  return Status(Code::invalid_argument,
                "the region's word_bytes is 0 (client and daemon differ in byte order)");
}

Status Connection::on_write(const session::Message& message,
                            const std::shared_ptr<SessionQueue>& queue) {
  OB_ASSIGN_OR_RETURN(const auto write, wire::decode<wire::Write>(message.body));
  if (packed_bytes(write.region) != message.header.payload_bytes) {
    return Status(Code::protocol_error, "write's payload is not as long as its region");
  }
  // Held: another connection of the session may free it while the payload arrives.
  OB_ASSIGN_OR_RETURN(const SessionBuffer buffer, session_->buffer(write.buffer));
  if (!fits(write.region, buffer.size_bytes)) {
    return Status(Code::invalid_argument, "write exceeds buffer " +
                                              std::to_string(write.buffer.value) + " of " +
                                              std::to_string(buffer.size_bytes) + " bytes");
  }
  OB_RETURN_IF_ERROR(check_words(write.region));
  std::byte* memory = session_->device().host_view(buffer.memory->local);
  if (memory == nullptr) return stage(write, message.header.sequence, queue);
  OB_RETURN_IF_ERROR(wait_for(session_->open_uses(write.buffer)));  // its memory is about to change
  return take_payload(Layout::matrix(memory, write.region),
                      other_byte_order_ ? write.region.word_bytes : 1);
}

Result<Connection::Source> Connection::source_of(const wire::Read& read,
                                                 const std::shared_ptr<SessionQueue>& queue) {
  OB_ASSIGN_OR_RETURN(const SessionBuffer buffer, session_->buffer(read.buffer));
  if (!fits(read.region, buffer.size_bytes)) {
    return Status(Code::invalid_argument, "read exceeds buffer " +
                                              std::to_string(read.buffer.value) + " of " +
                                              std::to_string(buffer.size_bytes) + " bytes");
  }
  OB_RETURN_IF_ERROR(check_words(read.region));
  OB_RETURN_IF_ERROR(session_->use(read.buffer, queue).status());
  std::byte* memory = session_->device().host_view(buffer.memory->local);
  if (memory == nullptr) return staged_source(read.region, buffer, queue);
  return Source{buffer.memory, Layout::matrix(memory, read.region), nullptr};
}

Status Connection::on_read(const session::Message& message,
                           const std::shared_ptr<SessionQueue>& queue) {
  OB_ASSIGN_OR_RETURN(const auto read, wire::decode<wire::Read>(message.body));
  Source source;
  if (queue->failure.ok()) {
    if (auto found = source_of(read, queue); found.ok())
      source = std::move(found).value();
    else
      queue->fail(found.status(), message.header.sequence);
  }
  return answer_with(std::move(source), message, queue);
}

// The device takes the digests in the queue's turn; the answer sends them from where they wait.
Result<Connection::Source> Connection::digests_of(const session::Message& message,
                                                  const wire::Digest& asked,
                                                  const std::shared_ptr<SessionQueue>& queue) {
  const Chunks chunks(asked.region, asked.chunk_bytes);
  if (chunks.count() > wire::kMaxDigests) {
    return Status(Code::invalid_argument, "digest asks for " + std::to_string(chunks.count()) +
                                              " chunks (the limit is " +
                                              std::to_string(wire::kMaxDigests) + ")");
  }
  struct Answer {
    Reservation memory;
    std::vector<Digest> digests;
  };
  const std::uint64_t answer_bytes = chunks.count() * sizeof(Digest);
  OB_ASSIGN_OR_RETURN(Reservation memory, session_->reserve_host(answer_bytes));
  OB_ASSIGN_OR_RETURN(const auto buffer, session_->use(asked.buffer, queue));
  const auto answer =
      std::make_shared<Answer>(Answer{std::move(memory), std::vector<Digest>(chunks.count())});
  OB_RETURN_IF_ERROR(session_->device().digest(queue->local, buffer->local, asked.region,
                                               asked.chunk_bytes, answer->digests));
  queue->note_on_device(message.header.sequence);
  return Source{answer, Layout::bytes(answer->digests.data(), answer_bytes), nullptr};
}

Status Connection::on_digest(const session::Message& message,
                             const std::shared_ptr<SessionQueue>& queue) {
  OB_ASSIGN_OR_RETURN(const auto asked, wire::decode<wire::Digest>(message.body));
  Source source;
  if (queue->failure.ok()) {
    if (auto found = digests_of(message, asked, queue); found.ok())
      source = std::move(found).value();
    else
      queue->fail(found.status(), message.header.sequence);
  }
  return answer_with(std::move(source), message, queue);
}

// Sends what was asked for once the queue gets here.
Status Connection::answer_with(Source source, const session::Message& message,
                               const std::shared_ptr<SessionQueue>& queue) {
  const std::uint64_t command = queue->announced = queue->submitted;
  ++replies_.owed;
  auto self = shared_from_this();
  const auto answer = [self, queue, command, source = std::move(source), id = message.header.queue,
                       sequence = message.header.sequence, failure = queue->failure,
                       failed = queue->failed_sequence](const QueueReport& report) {
    wire::Outcome outcome = outcome_of(*queue, report, failure, failed);
    outcome.credits = grant(*queue, command);
    const bool deliver = outcome.code == Code::ok;
    if (deliver && source.staged != nullptr) {
      self->answer_staged(*source.staged, id, sequence, std::move(outcome));
    } else {
      (void)self->replies_.reply(Opcode::data, id, sequence, outcome,
                                 deliver ? source.elements : Layout());
    }
    --self->replies_.owed;
  };
  Status asked = session_->device().on_reached(queue->local, false, answer);
  if (!asked.ok()) --replies_.owed;
  return asked;
}

Status Connection::on_synchronize(const session::Message& message,
                                  const std::shared_ptr<SessionQueue>& queue) {
  const std::uint64_t command = queue->announced = queue->submitted;
  ++replies_.owed;
  auto self = shared_from_this();
  const auto answer =
      [self, queue, command, id = message.header.queue, sequence = message.header.sequence,
       failure = std::exchange(queue->failure, Status()),
       failed = std::exchange(queue->failed_sequence, 0)](const QueueReport& report) {
        wire::Outcome outcome = outcome_of(*queue, report, failure, failed);
        if (!report.status.ok() && report.status.code() != Code::busy)
          self->session_->doubt_plans();
        queue->forget_device_failure();
        outcome.credits = grant(*queue, command);
        outcome.keep_bytes = self->session_->keep_bytes();
        (void)self->replies_.reply(Opcode::done, id, sequence, outcome);
        --self->replies_.owed;
      };
  Status asked = session_->device().on_reached(queue->local, true, answer);
  if (!asked.ok()) --replies_.owed;
  return asked;
}

Status Connection::on_copy(const session::Message& message,
                           const std::shared_ptr<SessionQueue>& queue) {
  OB_ASSIGN_OR_RETURN(const auto copy, wire::decode<wire::Copy>(message.body));
  OB_ASSIGN_OR_RETURN(const auto source, session_->use(copy.source, queue));
  OB_ASSIGN_OR_RETURN(const auto destination, session_->use(copy.destination, queue));
  return session_->device().copy(queue->local, source->local, copy.from, destination->local,
                                 copy.to);
}

Status Connection::on_call(const session::Message& message,
                           const std::shared_ptr<SessionQueue>& queue) {
  OB_ASSIGN_OR_RETURN(DecodedCall call, decode_call(message.body));
  for (std::size_t i = 0; i < call.routine->kinds.size(); ++i) {
    if (!is_memory(call.routine->kinds[i])) continue;
    BufferId& buffer = call.arguments[i].device.buffer;
    if (!buffer) continue;  // nothing is referenced; the device checks that
    OB_ASSIGN_OR_RETURN(const auto memory, session_->use(buffer, queue));
    buffer = memory->local;
  }
  return session_->device().call(queue->local, *call.routine, call.arguments);
}

Status Connection::on_execute(const session::Message& message,
                              const std::shared_ptr<SessionQueue>& queue) {
  OB_ASSIGN_OR_RETURN(const auto execute, wire::decode<wire::ExecutePlan>(message.body));
  OB_ASSIGN_OR_RETURN(const PlanId plan, session_->plan(execute.plan));
  OB_ASSIGN_OR_RETURN(const auto input, session_->use(execute.input, queue));
  OB_ASSIGN_OR_RETURN(const auto output, session_->use(execute.output, queue));
  return session_->device().execute(queue->local, plan, {input->local, execute.input_offset_bytes},
                                    {output->local, execute.output_offset_bytes});
}

Status Connection::on_event(const session::Message& message,
                            const std::shared_ptr<SessionQueue>& queue) {
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
