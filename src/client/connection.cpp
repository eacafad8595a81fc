#include "client/connection.hpp"

#include <errno.h>  // program_invocation_short_name
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "client/join_streams.hpp"
#include "wire/byte_swap.hpp"

namespace ob::client {
namespace {

using std::chrono::milliseconds;
using transport::Clock;

std::string program_and_pid() {
  return std::string(program_invocation_short_name) + " pid " + std::to_string(::getpid());
}

// Answers to receives that nobody has waited for: what may be asked for on a connection, and more.
constexpr std::size_t kMostReceived = 1 << 14;

Status unexpected(const session::Message& message) {
  return Status(Code::protocol_error, "unexpected message " +
                                          std::to_string(static_cast<int>(message.header.opcode)) +
                                          " from the daemon (it answers nothing that was asked)");
}

Status refusal(const session::Message& message) {
  OB_ASSIGN_OR_RETURN(const wire::Refused refused, wire::decode<wire::Refused>(message.body));
  return Status(refused.code == Code::ok ? Code::denied : refused.code, refused.message);
}

}  // namespace

Connection::Connection(std::unique_ptr<transport::Stream> stream, std::string address,
                       const Patience& patience)
    : stream_(std::make_unique<transport::StripedStream>(std::move(stream))),
      address_(std::move(address)),
      patience_(patience),
      receiver_(*stream_),
      sender_(*stream_, *this) {}

Connection::~Connection() = default;

Result<std::unique_ptr<Connection>> Connection::open(const std::string& address,
                                                     const ConnectionConfig& config) {
  const Patience& patience = config.patience;
  const auto deadline = Clock::now() + milliseconds(patience.connect_ms);
  OB_ASSIGN_OR_RETURN(auto stream, transport::connect(address, deadline, config.security.get()));
  std::unique_ptr<Connection> connection(new Connection(std::move(stream), address, patience));
  const bool striped = config.streams > 1 && connection->stream_->can_be_striped();
  const unsigned most = transport::StripedStream::kMaxStreams;
  const auto extra = static_cast<std::uint8_t>(striped ? std::min(config.streams, most) - 1 : 0);
  Status status = connection->shake_hands(extra, config.device);
  const bool understood = status.code() != Code::protocol_error;  // an older daemon does not
  if (striped && status.ok()) {
    status = connection->add_streams(extra, Clock::now() + milliseconds(patience.connect_ms));
  } else if (!striped || understood) {
    OB_RETURN_IF_ERROR(status);
  }
  if (status.ok()) return connection;
  connection.reset();
  ConnectionConfig single = config;
  single.streams = 1;
  return open(address, single);
}

Result<session::Message> Connection::next_of_handshake(transport::Deadline deadline) {
  for (;;) {
    OB_ASSIGN_OR_RETURN(const auto message, receiver_.poll());
    if (message) return *message;
    OB_RETURN_IF_ERROR(stream_->wait(true, false, deadline));
  }
}

Status Connection::shake_hands(std::uint8_t extra_streams, std::uint32_t device) {
  wire::Hello hello;
  hello.big_endian = wire::kBigEndian;
  hello.client = program_and_pid();
  hello.extra_streams = extra_streams;
  hello.device = device;
  wire::Body body;
  wire::encode(hello, body);
  wire::Header header;
  header.opcode = wire::Opcode::hello;
  OB_RETURN_IF_ERROR(sender_.send(header, body.bytes()));
  OB_RETURN_IF_ERROR(sender_.flush());
  const auto deadline = Clock::now() + milliseconds(patience_.connect_ms);
  OB_ASSIGN_OR_RETURN(const session::Message answer, next_of_handshake(deadline));
  return take_welcome(answer);
}

Status Connection::take_welcome(const session::Message& message) {
  if (message.header.opcode == wire::Opcode::refused) return refusal(message);
  if (message.header.opcode != wire::Opcode::welcome) return unexpected(message);
  OB_ASSIGN_OR_RETURN(welcome_, wire::decode<wire::Welcome>(message.body));
  if (welcome_.version != wire::kVersion) {
    return Status(Code::version_mismatch,
                  "daemon speaks version " + std::to_string(welcome_.version) +
                      ", this library version " + std::to_string(wire::kVersion) +
                      " (install matching releases)");
  }
  other_byte_order_ = welcome_.big_endian != wire::kBigEndian;
  return {};
}

// What the daemon says here is the last that comes on the first stream alone.
Status Connection::add_streams(std::uint8_t asked_for, transport::Deadline deadline) {
  OB_ASSIGN_OR_RETURN(const session::Message message, next_of_handshake(deadline));
  if (message.header.opcode != wire::Opcode::stripes) return unexpected(message);
  OB_ASSIGN_OR_RETURN(const auto terms, wire::decode<wire::Stripes>(message.body));
  if (terms.extra_streams == 0) return {};
  if (terms.extra_streams > asked_for || !receiver_.idle()) return unexpected(message);
  OB_ASSIGN_OR_RETURN(auto others, join_streams(stream_->peer(), terms, deadline));
  stream_->stripe(std::move(others), terms.block_bytes);
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
  expected_.push_back({next_sequence(), queue, destination,
                       other_byte_order_ ? message.region.word_bytes : std::uint32_t{1}});
  return command(wire::Opcode::read, queue, message);
}

Result<std::uint64_t> Connection::digest(QueueId queue, const wire::Digest& message,
                                         std::span<Digest> digests) {
  if (other_byte_order_) {
    return Status(Code::unsupported, "digests of memory in the other byte order (" + address_ +
                                         ") say nothing about memory here");
  }
  expected_.push_back({next_sequence(), queue, Layout::bytes(digests.data(), digests.size_bytes()),
                       std::uint32_t{1}});
  OB_ASSIGN_OR_RETURN(const std::uint64_t sent, command(wire::Opcode::digest, queue, message));
  OB_RETURN_IF_ERROR(flush());
  return sent;
}

// Whoever receives the region's elements must know what to swap.
Status Connection::check_words(const Region& region) const {
  if (!other_byte_order_ || region.word_bytes != 0) return {};
  return Status(Code::invalid_argument,
                "the region's word_bytes is 0 (" + address_ + " has the other byte order)");
}

// Waits for the stream; asks a silent daemon whether it lives, and gives it up if it stays silent.
// Silence counts from the asking: before, nothing may have been due.
Status Connection::wait_for_bytes(bool want_send) {
  const auto wake = Clock::now() + milliseconds(patience_.ping_after_ms);
  Status status = stream_->wait(true, want_send, wake);
  if (status.ok() && want_send) asked_.reset();  // a peer that takes bytes is alive
  if (status.code() != Code::deadline_exceeded) return status;
  const auto now = Clock::now();
  if (!asked_) asked_ = now;
  if (now - *asked_ >= milliseconds(patience_.dead_after_ms - patience_.ping_after_ms)) {
    stream_->shut_down();  // whatever still comes must not land any more
    return Status(Code::deadline_exceeded, address_ + " has been silent for " +
                                               std::to_string(patience_.dead_after_ms) +
                                               " ms (stopped, overloaded or cut off)");
  }
  if (want_send) return {};  // the unsent bytes are question enough
  wire::Header header;
  header.opcode = wire::Opcode::ping;
  header.sequence = ++ping_sequence_;
  OB_RETURN_IF_ERROR(sender_.send(header, {}));
  return sender_.flush();
}

Status Connection::wait_to_send() {
  OB_ASSIGN_OR_RETURN(const bool any, receive());
  return any ? Status() : wait_for_bytes(true);
}

template <class Predicate>
Status Connection::receive_until(Predicate arrived) {
  asked_.reset();
  while (!arrived()) {
    OB_ASSIGN_OR_RETURN(const bool any, receive());
    if (!any && !arrived()) OB_RETURN_IF_ERROR(wait_for_bytes(false));
  }
  return {};
}

Result<bool> Connection::receive() {
  bool any = false;
  for (;;) {
    if (landing_) {
      const std::uint64_t before = receiver_.payload_left();
      OB_ASSIGN_OR_RETURN(const bool complete,
                          receiver_.poll_payload(*landing_, landing_word_bytes_));
      any = any || receiver_.payload_left() != before;
      if (!complete) break;
      landing_.reset();
    }
    OB_ASSIGN_OR_RETURN(const auto message, receiver_.poll());
    if (!message) break;
    any = true;
    OB_RETURN_IF_ERROR(handle(*message));
  }
  if (any) asked_.reset();
  return any;
}

Status Connection::handle(const session::Message& message) {
  const wire::Header& header = message.header;
  if (header.opcode != wire::Opcode::data && header.payload_bytes != 0) return unexpected(message);
  switch (header.opcode) {
    case wire::Opcode::data: return handle_data(message);
    case wire::Opcode::done: {
      OB_ASSIGN_OR_RETURN(done_, wire::decode<wire::Outcome>(message.body));
      done_sequence_ = header.sequence;
      note_credits(header.queue, done_.credits);
      if (const auto failed = read_failures_.extract(header.queue.value);
          !failed.empty() && done_.code == Code::ok) {
        done_.code = failed.mapped().first.code();
        done_.message = failed.mapped().first.message();
        done_.failed_sequence = failed.mapped().second;
      }
      return {};
    }
    case wire::Opcode::credit: {
      OB_ASSIGN_OR_RETURN(const wire::Credit credit, wire::decode<wire::Credit>(message.body));
      note_credits(header.queue, credit.credits);
      return {};
    }
    case wire::Opcode::location: {
      OB_ASSIGN_OR_RETURN(location_, wire::decode<wire::Location>(message.body));
      location_sequence_ = header.sequence;
      return {};
    }
    case wire::Opcode::mailbox: {
      OB_ASSIGN_OR_RETURN(mailbox_, wire::decode<wire::Mailbox>(message.body));
      inbox_sequence_ = header.sequence;
      return {};
    }
    case wire::Opcode::peer: {
      OB_ASSIGN_OR_RETURN(peer_, wire::decode<wire::Outcome>(message.body));
      peer_sequence_ = header.sequence;
      return {};
    }
    case wire::Opcode::received: {
      // any number may come before the first is waited for, but only of those that were asked for
      if (header.sequence > sequence_ || received_.size() > kMostReceived) {
        return unexpected(message);
      }
      OB_ASSIGN_OR_RETURN(received_[header.sequence], wire::decode<wire::Outcome>(message.body));
      return {};
    }
    case wire::Opcode::pong:  // number 0 comes unasked, while the daemon holds a payload back
      pong_sequence_ = std::max(pong_sequence_, header.sequence);
      return {};
    case wire::Opcode::failed: {
      OB_ASSIGN_OR_RETURN(const wire::Outcome outcome, wire::decode<wire::Outcome>(message.body));
      return Status(Code::protocol_error, "daemon gave the connection up: " + outcome.message);
    }
    default: return unexpected(message);
  }
}

Status Connection::handle_data(const session::Message& message) {
  OB_ASSIGN_OR_RETURN(const wire::Outcome outcome, wire::decode<wire::Outcome>(message.body));
  const auto at = std::find_if(expected_.begin(), expected_.end(), [&](const ExpectedData& e) {
    return e.sequence == message.header.sequence;
  });
  if (at == expected_.end()) return unexpected(message);
  note_credits(at->queue, outcome.credits);
  const Layout destination = at->destination;
  const QueueId at_queue = at->queue;
  landing_word_bytes_ = at->swapped_word_bytes;
  expected_.erase(at);
  if (outcome.code != Code::ok) {
    read_failures_.try_emplace(at_queue.value, Status(outcome.code, outcome.message),
                               message.header.sequence);
    return message.header.payload_bytes == 0 ? Status() : unexpected(message);
  }
  if (message.header.payload_bytes != destination.total_bytes()) {
    return Status(Code::protocol_error,
                  "daemon answered a read of " + std::to_string(destination.total_bytes()) +
                      " bytes with " + std::to_string(message.header.payload_bytes));
  }
  if (destination.total_bytes() == 0) return {};
  landing_layout_ = destination;
  landing_.emplace(landing_layout_);
  return {};
}

Result<wire::Outcome> Connection::wait_done(std::uint64_t sequence) {
  OB_RETURN_IF_ERROR(flush());
  OB_RETURN_IF_ERROR(receive_until([&] { return done_sequence_ >= sequence; }));
  return done_;
}

Result<wire::Location> Connection::wait_location(std::uint64_t sequence) {
  OB_RETURN_IF_ERROR(flush());
  OB_RETURN_IF_ERROR(receive_until([&] { return location_sequence_ >= sequence; }));
  return location_;
}

Result<wire::Mailbox> Connection::wait_inbox(std::uint64_t sequence) {
  OB_RETURN_IF_ERROR(flush());
  OB_RETURN_IF_ERROR(receive_until([&] { return inbox_sequence_ >= sequence; }));
  return mailbox_;
}

Result<wire::Outcome> Connection::wait_peer(std::uint64_t sequence) {
  OB_RETURN_IF_ERROR(flush());
  OB_RETURN_IF_ERROR(receive_until([&] { return peer_sequence_ >= sequence; }));
  return peer_;
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

Result<std::uint64_t> Connection::ping() {
  const auto start = Clock::now();
  wire::Header header;
  header.opcode = wire::Opcode::ping;
  header.sequence = ++ping_sequence_;
  const std::uint64_t asked = header.sequence;
  OB_RETURN_IF_ERROR(sender_.send(header, {}));
  OB_RETURN_IF_ERROR(flush());
  OB_RETURN_IF_ERROR(receive_until([&] { return pong_sequence_ >= asked; }));
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

}  // namespace ob::client
