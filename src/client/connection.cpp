#include "client/connection.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "client/connect_failure.hpp"
#include "client/handshake.hpp"
#include "client/unexpected.hpp"
#include "wire/byte_swap.hpp"

namespace ob::client {
namespace {

using transport::Clock;

// The limit of answers that nobody waits for yet. A daemon grants a connection fewer.
constexpr std::size_t kMaxReceived = 1 << 14;
// Looks at a connection for which no thread waits: the first ones after the last message, the later
// ones, and those while nothing is owed, which keep the session from being closed as unused.
constexpr std::chrono::microseconds kLeastLook{50};
constexpr std::chrono::milliseconds kMostLook{2};
constexpr std::chrono::milliseconds kIdleLook{500};
// The time for the handshake after the daemon has accepted the connection.
constexpr std::chrono::milliseconds kLeastHandshake{500};

}  // namespace

Connection::Connection(std::unique_ptr<transport::Stream> stream, std::string address,
                       const ConnectionConfig& config)
    : stream_(std::make_unique<transport::StripedStream>(std::move(stream))),
      address_(std::move(address)),
      receiver_(*stream_),
      sender_(*stream_, *this),
      watch_(config.timeouts, config.host) {}

Connection::~Connection() = default;

Result<std::unique_ptr<Connection>> Connection::open(const std::string& address,
                                                     const ConnectionConfig& config) {
  const auto deadline =
      Clock::now() + DaemonWatch::connect_time(config.timeouts, config.host.get());
  auto connection = open_until(address, config, deadline);
  const bool silent = !connection.ok() && Clock::now() >= deadline;
  if (silent && config.host != nullptr) config.host->report(Clock::now());
  if (!connection.ok()) return connect_failure(address, connection.status());
  return connection;
}

Result<std::unique_ptr<Connection>> Connection::open_until(const std::string& address,
                                                           const ConnectionConfig& config,
                                                           transport::Deadline deadline) {
  OB_ASSIGN_OR_RETURN(auto stream, transport::connect(address, deadline, config.security.get()));
  std::unique_ptr<Connection> connection(new Connection(std::move(stream), address, config));
  const bool striped = config.streams > 1 && connection->stream_->can_be_striped();
  const unsigned most = transport::StripedStream::kMaxStreams;
  const auto extra = static_cast<std::uint8_t>(striped ? std::min(config.streams, most) - 1 : 0);
  // A daemon that was started for this connection may have answered after the deadline.
  const NewStream fresh =
      connection->new_stream(std::max(deadline, Clock::now() + kLeastHandshake));
  Status status = connection->shake_hands(fresh, extra, config);
  const bool understood = status.code() != Code::protocol_error;  // older daemons do not
  if (!status.ok() && (!striped || understood)) return status;
  if (status.ok() && striped) status = add_streams(fresh, extra);
  if (status.ok()) status = connection->queue_ping();  // its pong tells the promise of the daemon
  if (status.ok()) return connection;
  connection.reset();
  ConnectionConfig single = config;
  single.streams = 1;
  return open_until(address, single, deadline);
}

NewStream Connection::new_stream(transport::Deadline deadline) {
  return {*stream_, address_, sender_, receiver_, deadline};
}

Status Connection::shake_hands(const NewStream& with, std::uint8_t extra_streams,
                               const ConnectionConfig& config) {
  wire::Hello hello;
  hello.join = config.join;
  hello.device = config.device;
  hello.identity = config.identity;
  hello.extra_streams = extra_streams;
  if (config.holds_user_data) hello.flags |= wire::kHoldsUserData;
  if (config.wants_kernels) hello.flags |= wire::kWantsKernels;
  OB_ASSIGN_OR_RETURN(greeting_, client::shake_hands(with, std::move(hello)));
  watch_.heard();
  other_byte_order_ = greeting_.welcome.big_endian != wire::kBigEndian;
  return {};
}

Status Connection::take_credit(QueueId queue) {
  std::uint32_t& used = used_credits_[queue.value];
  if (used >= wire::kInitialCredits) {
    OB_RETURN_IF_ERROR(flush());
    OB_RETURN_IF_ERROR(receive_until([&] { return used < wire::kInitialCredits; }));
  }
  ++used;
  return {};
}

void Connection::note_credits(QueueId queue, std::uint32_t credits) {
  std::uint32_t& used = used_credits_[queue.value];
  used -= std::min(used, credits);
}

Result<std::uint64_t> Connection::command(wire::Opcode opcode, QueueId queue,
                                          std::span<const std::byte> body) {
  if (wire::uses_credit(opcode)) OB_RETURN_IF_ERROR(take_credit(queue));
  wire::Header header;
  header.opcode = opcode;
  header.queue = queue;
  header.sequence = ++sequence_;
  if (wire::facts_of(opcode).reply != wire::Opcode::none) ++owed_;
  OB_RETURN_IF_ERROR(sender_.send(header, body));
  return sequence_;
}

Result<std::uint64_t> Connection::write(QueueId queue, const wire::Write& message,
                                        const Layout& source) {
  OB_RETURN_IF_ERROR(check_words(message.region));
  OB_RETURN_IF_ERROR(take_credit(queue));
  wire::Body body;
  wire::encode(message, body);
  wire::Header header;
  header.opcode = wire::Opcode::write;
  header.queue = queue;
  header.sequence = ++sequence_;
  OB_RETURN_IF_ERROR(sender_.send(header, body.bytes(), source));
  return sequence_;
}

Result<std::uint64_t> Connection::read(QueueId queue, const wire::Read& message,
                                       const Layout& destination) {
  OB_RETURN_IF_ERROR(check_words(message.region));
  expected_.expect({next_sequence(), queue, destination,
                    other_byte_order_ ? message.region.word_bytes : std::uint32_t{1}});
  arrivals_->note_oldest(expected_.oldest());
  return command(wire::Opcode::read, queue, message);
}

Result<std::uint64_t> Connection::load_module(const wire::LoadModule& message,
                                              const Layout& payload) {
  wire::Body body;
  wire::encode(message, body);
  wire::Header header;
  header.opcode = wire::Opcode::load_module;
  header.sequence = ++sequence_;
  ++owed_;
  OB_RETURN_IF_ERROR(sender_.send(header, body.bytes(), payload));
  return sequence_;
}

Result<std::uint64_t> Connection::fill(QueueId queue, const wire::Fill& message) {
  OB_RETURN_IF_ERROR(check_words(message.region));
  return command(wire::Opcode::fill, queue, message);
}

Result<std::uint64_t> Connection::digest(QueueId queue, const wire::Digest& message,
                                         std::span<Digest> digests) {
  if (other_byte_order_) {
    return Status(Code::unsupported, "digests of memory in the other byte order (" + address_ +
                                         ") say nothing about memory here");
  }
  expected_.expect({next_sequence(), queue, Layout::bytes(digests.data(), digests.size_bytes()),
                    std::uint32_t{1}});
  arrivals_->note_oldest(expected_.oldest());
  OB_ASSIGN_OR_RETURN(const std::uint64_t sent, command(wire::Opcode::digest, queue, message));
  OB_RETURN_IF_ERROR(flush());
  return sent;
}

// The side that receives the elements of the region must know which words to swap.
Status Connection::check_words(const Region& region) const {
  if (!other_byte_order_ || region.word_bytes != 0) return {};
  return Status(Code::invalid_argument,
                "the region's word_bytes is 0 (" + address_ + " has the other byte order)");
}

// Waits for the stream, and asks a silent daemon for a sign of life. The caller has just looked for
// bytes, so that those which arrived while this thread waited for a core count first.
Status Connection::wait_for_bytes(bool want_send, transport::Deadline deadline) {
  const auto begin = Clock::now();
  if (watch_.is_dead(begin)) {
    stream_->shut_down();  // late payloads must not reach the caller's memory
    return watch_.give_up(address_);
  }
  const auto planned_end = std::min(watch_.next_look(begin), deadline);
  Status status = stream_->wait(true, want_send, planned_end);
  if (status.ok() && !want_send) return status;
  const bool ask = watch_.should_ask(begin, planned_end, Clock::now());
  if (status.ok()) watch_.bytes_accepted();
  if (status.code() != Code::deadline_exceeded) return status;
  if (!ask || want_send) return {};  // unsent bytes prompt the daemon, too
  OB_RETURN_IF_ERROR(queue_ping());
  return flush();
}

Status Connection::wait_to_send() {
  OB_ASSIGN_OR_RETURN(const bool any, receive());
  return any ? Status() : wait_for_bytes(true);
}

template <class Predicate>
Status Connection::receive_until(Predicate arrived) {
  return receive_before(arrived, transport::Deadline::max()).status();
}

template <class Predicate>
Result<bool> Connection::receive_before(Predicate arrived, transport::Deadline deadline) {
  looked_ = {};  // this thread counts the silence now
  while (!arrived()) {
    OB_ASSIGN_OR_RETURN(const bool any, receive());
    if (any || arrived()) continue;
    if (deadline != transport::Deadline::max() && Clock::now() >= deadline) return false;
    OB_RETURN_IF_ERROR(wait_for_bytes(false, deadline));
  }
  return true;
}

Result<bool> Connection::receive() {
  bool any = false;
  for (;;) {
    if (expected_.receiving()) {
      OB_ASSIGN_OR_RETURN(const bool some, expected_.receive(receiver_));
      any = any || some;
      if (expected_.receiving()) break;
    }
    if (module_.receiving()) {
      OB_ASSIGN_OR_RETURN(const bool some, module_.receive(receiver_));
      any = any || some;
      if (module_.receiving()) break;
    }
    OB_ASSIGN_OR_RETURN(const auto message, receiver_.poll());
    if (!message) break;
    any = true;
    OB_RETURN_IF_ERROR(handle(*message));
  }
  if (any) {
    arrivals_->note_oldest(expected_.oldest());
    watch_.heard();
    heard_ = Clock::now();
  }
  return any;
}

template <class Message>
Status Connection::take_reply(const session::Message& message, Reply<Message>& reply) {
  OB_ASSIGN_OR_RETURN(reply.message, wire::decode<Message>(message.body));
  reply.sequence = message.header.sequence;
  return {};
}

Status Connection::handle(const session::Message& message) {
  const wire::Header& header = message.header;
  if (owed_ > 0 && header.opcode != wire::Opcode::pong && header.sequence != 0) --owed_;
  switch (header.opcode) {
    case wire::Opcode::data: {
      std::uint32_t credits = 0;
      OB_ASSIGN_OR_RETURN(const QueueId queue, expected_.take(message, credits));
      note_credits(queue, credits);
      return {};
    }
    case wire::Opcode::done: return handle_done(message);
    case wire::Opcode::credit: {
      OB_ASSIGN_OR_RETURN(const wire::Credit credit, wire::decode<wire::Credit>(message.body));
      note_credits(header.queue, credit.credits);
      return {};
    }
    case wire::Opcode::reached: return handle_reached(message);
    case wire::Opcode::module: return module_.take(message);
    case wire::Opcode::location: return take_reply(message, location_);
    case wire::Opcode::mailbox: return take_reply(message, mailbox_);
    case wire::Opcode::granted: return take_reply(message, granted_);
    case wire::Opcode::peer: return take_reply(message, peer_);
    case wire::Opcode::received: return handle_received(message);
    case wire::Opcode::pong:  // number 0 is unasked
      watch_.announced(header.queue.value);
      pong_sequence_ = std::max(pong_sequence_, header.sequence);
      return {};
    case wire::Opcode::failed: {
      OB_ASSIGN_OR_RETURN(const wire::Outcome outcome, wire::decode<wire::Outcome>(message.body));
      return Status(Code::protocol_error, "daemon gave the connection up: " + outcome.message);
    }
    default: return unexpected(message);
  }
}

Status Connection::handle_done(const session::Message& message) {
  const std::uint64_t sequence = message.header.sequence;
  if (sequence > sequence_ || done_.size() > kMaxReceived) return unexpected(message);
  OB_ASSIGN_OR_RETURN(wire::Outcome outcome, wire::decode<wire::Outcome>(message.body));
  note_credits(message.header.queue, outcome.credits);
  expected_.add_failure(message.header.queue, outcome);
  done_.emplace_back(sequence, std::move(outcome));
  return {};
}

Status Connection::handle_reached(const session::Message& message) {
  const std::uint64_t sequence = message.header.sequence;
  if (sequence > sequence_ || reached_.size() > kMaxReceived) return unexpected(message);
  OB_ASSIGN_OR_RETURN(wire::Reached reached, wire::decode<wire::Reached>(message.body));
  note_credits(message.header.queue, reached.outcome.credits);
  expected_.show_failure(message.header.queue, reached.outcome);
  if (mark_listener_) {
    mark_listener_(sequence, reached);
  } else {
    reached_[sequence] = std::move(reached);
  }
  return {};
}

// Any number of answers to receives may arrive before the first wait, but only to receives that
// were sent.
Status Connection::handle_received(const session::Message& message) {
  const std::uint64_t sequence = message.header.sequence;
  if (sequence > sequence_ || received_.size() > kMaxReceived) return unexpected(message);
  OB_ASSIGN_OR_RETURN(wire::Outcome outcome, wire::decode<wire::Outcome>(message.body));
  if (received_listener_) {
    received_listener_(outcome);
  } else {
    received_[sequence] = std::move(outcome);
  }
  return {};
}

template <class Message>
Result<Message> Connection::wait_for_reply(std::uint64_t sequence, const Reply<Message>& reply) {
  OB_RETURN_IF_ERROR(flush());
  OB_RETURN_IF_ERROR(receive_until([&] { return reply.sequence >= sequence; }));
  return reply.message;
}

bool Connection::is_done(std::uint64_t sequence) const noexcept {
  return std::any_of(done_.begin(), done_.end(),
                     [&](const auto& answer) { return answer.first == sequence; });
}

// @pre is_done(sequence)
wire::Outcome Connection::take_done(std::uint64_t sequence) {
  const auto at = std::find_if(done_.begin(), done_.end(),
                               [&](const auto& answer) { return answer.first == sequence; });
  wire::Outcome outcome = std::move(at->second);
  done_.erase(at);
  return outcome;
}

Result<wire::Outcome> Connection::wait_done(std::uint64_t sequence) {
  OB_RETURN_IF_ERROR(flush());
  OB_RETURN_IF_ERROR(receive_until([&] { return is_done(sequence); }));
  return take_done(sequence);
}

Result<std::optional<wire::Outcome>> Connection::wait_done(std::uint64_t sequence,
                                                           transport::Deadline deadline) {
  OB_RETURN_IF_ERROR(flush());
  OB_ASSIGN_OR_RETURN(const bool done, receive_before([&] { return is_done(sequence); }, deadline));
  if (!done) return std::optional<wire::Outcome>();
  return std::make_optional(take_done(sequence));
}

Status Connection::wait_data(std::uint64_t sequence) {
  OB_RETURN_IF_ERROR(flush());
  return receive_until([&] { return arrivals_->complete(sequence); });
}

Result<wire::Reached> Connection::wait_reached(std::uint64_t sequence) {
  OB_RETURN_IF_ERROR(flush());
  OB_RETURN_IF_ERROR(receive_until([&] { return reached_.count(sequence) != 0; }));
  auto answer = reached_.extract(sequence);
  return std::move(answer.mapped());
}

Result<wire::Location> Connection::wait_location(std::uint64_t sequence) {
  return wait_for_reply(sequence, location_);
}

Result<wire::Mailbox> Connection::wait_mailbox(std::uint64_t sequence) {
  return wait_for_reply(sequence, mailbox_);
}

Result<wire::Granted> Connection::wait_granted(std::uint64_t sequence) {
  return wait_for_reply(sequence, granted_);
}

Result<wire::Outcome> Connection::wait_peer(std::uint64_t sequence) {
  return wait_for_reply(sequence, peer_);
}

Result<wire::Outcome> Connection::wait_received(std::uint64_t sequence,
                                                const std::function<bool()>& give_up) {
  OB_RETURN_IF_ERROR(flush());
  bool given_up = false;
  OB_RETURN_IF_ERROR(
      receive_until([&] { return received_.count(sequence) != 0 || (given_up = give_up()); }));
  if (given_up) return Status(Code::unavailable, "a peer message was given up");
  auto answer = received_.extract(sequence);
  return std::move(answer.mapped());
}

Result<transport::Deadline> Connection::look() {
  OB_ASSIGN_OR_RETURN(const bool any, receive());
  const bool awaited = awaits_answers();
  const auto now = Clock::now();
  if (heard_ == transport::Deadline{}) heard_ = now;
  if (any || looked_ == transport::Deadline{}) due_ = now;
  if (any || !awaited) {
    looked_ = {};
  } else if (looked_ != transport::Deadline{}) {
    if (watch_.is_dead(now)) {
      stream_->shut_down();
      return watch_.give_up(address_);
    }
    if (watch_.should_ask(looked_, planned_look_, now)) OB_RETURN_IF_ERROR(queue_ping());
  }
  if (!awaited && now - heard_ >= kIdleLook) OB_RETURN_IF_ERROR(queue_ping());
  OB_ASSIGN_OR_RETURN(const bool all_sent, sender_.try_flush());
  planned_look_ = next_look(now, all_sent);
  if (awaits_answers()) looked_ = now;
  return planned_look_;
}

// The next look of a thread that waits for nothing.
transport::Deadline Connection::next_look(transport::Deadline now, bool all_sent) const {
  if (!all_sent) return now + kLeastLook;
  if (!awaits_answers()) return heard_ + kIdleLook;
  const auto silence = watch_.next_look(now);
  if (stream_->can_be_striped()) return silence;  // its descriptor tells of bytes
  // The longer an answer takes, the less does its delay matter: a sixteenth of its time.
  const auto late = std::clamp<Clock::duration>((now - due_) / 16, kLeastLook, kMostLook);
  return std::min(silence, now + late);
}

Status Connection::queue_ping() {
  wire::Header header;
  header.opcode = wire::Opcode::ping;
  header.sequence = ++ping_sequence_;
  return sender_.send(header, {});
}

Result<std::uint64_t> Connection::ping() {
  const auto start = Clock::now();
  OB_RETURN_IF_ERROR(queue_ping());
  OB_RETURN_IF_ERROR(flush());
  const std::uint64_t asked = ping_sequence_;
  OB_RETURN_IF_ERROR(receive_until([&] { return pong_sequence_ >= asked; }));
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

}  // namespace ob::client
