// What goes from device to device: a client's commands for it, and another daemon at the far end.

#include <chrono>
#include <utility>

#include "daemon/peers/mailbox.hpp"
#include "daemon/peers/peer_link.hpp"
#include "daemon/server/connection.hpp"
#include "session/join.hpp"
#include "wire/byte_swap.hpp"
#include "wire/codec.hpp"

namespace ob::daemon {
namespace {

using transport::Clock;
using wire::Opcode;

// A client believes in a silent daemon for longer.
constexpr auto kConnectTime = std::chrono::milliseconds(2000);

wire::Outcome outcome_of(const Status& status) {
  wire::Outcome outcome;
  outcome.code = status.code();
  outcome.message = status.message();
  return outcome;
}

}  // namespace

// --- the client's commands -----------------------------------------------------------------------

Status Connection::on_peer_command(const session::Message& message) {
  const wire::Header& header = message.header;
  switch (header.opcode) {
    case Opcode::open_mailbox: {
      const auto mailbox = session_->open_mailbox(directory_.mailboxes());
      wire::Mailbox answer;
      answer.code = mailbox.status().code();
      if (mailbox.ok()) answer.access_key = (*mailbox)->access_key();
      return replies_.reply(Opcode::mailbox, {}, header.sequence, answer);
    }
    case Opcode::close_mailbox: session_->close_mailbox(); return {};
    case Opcode::connect_peer: {
      OB_ASSIGN_OR_RETURN(const auto connect, wire::decode<wire::ConnectPeer>(message.body));
      OB_RETURN_IF_ERROR(replies_.flush());  // this thread waits for the peer
      const Status status = connect_peer(connect);
      if (status.code() == Code::protocol_error) return status;
      return replies_.reply(Opcode::peer, {}, header.sequence, outcome_of(status));
    }
    default: {
      OB_ASSIGN_OR_RETURN(const auto disconnect, wire::decode<wire::DisconnectPeer>(message.body));
      session_->remove_peer(disconnect.peer);
      return {};
    }
  }
}

Status Connection::connect_peer(const wire::ConnectPeer& connect) {
  OB_RETURN_IF_ERROR(session_->check_new_peer(connect.peer));
  if (auto mailbox = directory_.mailboxes().find(connect.access_key)) {
    if (mailbox == session_->mailbox()) {
      return {Code::invalid_argument, "a session is no peer of its own"};
    }
    return session_->add_peer(connect.peer, make_route(std::move(mailbox)));
  }
  const auto deadline = Clock::now() + kConnectTime;
  const auto reach = [&]() -> Result<std::unique_ptr<transport::Stream>> {
    OB_ASSIGN_OR_RETURN(auto stream, directory_.connect_to(connect.address, deadline));
    wire::JoinPeer join;
    join.big_endian = wire::kBigEndian;
    join.access_key = connect.access_key;
    wire::Body body;
    wire::encode(join, body);
    OB_RETURN_IF_ERROR(session::ask_to_join(*stream, Opcode::join_peer, body.bytes()));
    OB_RETURN_IF_ERROR(session::take_joined(*stream, deadline));
    return stream;
  };
  auto stream = reach();
  if (stream.ok()) return session_->add_peer(connect.peer, make_route(std::move(*stream)));
  // whatever a stranger answers or leaves unsaid, the client's connection is as it was
  Code code = stream.status().code();
  if (code == Code::protocol_error || code == Code::connection_lost ||
      code == Code::deadline_exceeded) {
    code = Code::unavailable;
  }
  return Status(code, stream.status().message()).in("cannot reach the peer " + connect.address);
}

// As long as it is held the connection is not at rest: what is sent goes on after its queue is done
// with it.
std::shared_ptr<const void> Connection::unrest() {
  ++replies_.owed;
  return std::shared_ptr<const void>(
      this, [self = shared_from_this()](const void*) { --self->replies_.owed; });
}

// A peer message that cannot be sent is missing at the other end: it must know.
Status Connection::on_send(const session::Message& message,
                           const std::shared_ptr<SessionQueue>& queue) {
  OB_ASSIGN_OR_RETURN(const auto send, wire::decode<wire::Send>(message.body));
  const auto link = session_->peer(send.peer);
  if (link == nullptr) {
    return {Code::invalid_argument, "unknown peer " + std::to_string(send.peer.value)};
  }
  const auto submit = [&]() -> Status {
    OB_RETURN_IF_ERROR(queue->failure);
    OB_ASSIGN_OR_RETURN(const SessionBuffer buffer, session_->buffer(send.buffer));
    if (!fits(send.region, buffer.size_bytes)) {
      return {Code::invalid_argument, "send exceeds buffer " + std::to_string(send.buffer.value) +
                                          " of " + std::to_string(buffer.size_bytes) + " bytes"};
    }
    OB_RETURN_IF_ERROR(session_->use(send.buffer, queue).status());
    return session_->device().on_reached(
        queue->local, false,
        [link, peer_message = Outgoing{send.peer_message, send.region, buffer.memory, nullptr,
                                       unrest()}](const QueueReport& report) {
          if (report.status.ok()) {
            link->send(peer_message);
          } else {
            link->fail();
          }
        });
  };
  if (!link->alive()) return {Code::unavailable, "the way to the peer is lost"};
  Status status = submit();
  if (!status.ok()) link->fail();
  return status;
}

// Answered when the peer message is there, or cannot come; a failure of the queue before is one of
// them.
Status Connection::on_receive(const session::Message& message,
                              const std::shared_ptr<SessionQueue>& queue) {
  OB_ASSIGN_OR_RETURN(const auto receive, wire::decode<wire::Receive>(message.body));
  const auto mailbox = session_->mailbox();
  ++replies_.owed;
  auto self = shared_from_this();
  const auto answer = [self, id = message.header.queue,
                       sequence = message.header.sequence](const Status& status) {
    (void)self->replies_.reply(Opcode::received, id, sequence, outcome_of(status));
    --self->replies_.owed;
  };
  const auto submit = [&]() -> Status {
    OB_RETURN_IF_ERROR(queue->failure);
    if (mailbox == nullptr) return {Code::invalid_argument, "there is no mailbox to receive in"};
    OB_ASSIGN_OR_RETURN(const SessionBuffer buffer, session_->buffer(receive.buffer));
    if (!fits(receive.region, buffer.size_bytes)) {
      return {Code::invalid_argument, "receive exceeds buffer " +
                                          std::to_string(receive.buffer.value) + " of " +
                                          std::to_string(buffer.size_bytes) + " bytes"};
    }
    OB_RETURN_IF_ERROR(check_words(receive.region));
    std::shared_ptr<PeerLink> next;
    if (receive.next) {
      next = session_->peer(receive.next);
      if (next == nullptr) {
        return {Code::invalid_argument, "unknown peer " + std::to_string(receive.next.value)};
      }
    }
    OB_RETURN_IF_ERROR(session_->use(receive.buffer, queue).status());
    auto handing_on = next == nullptr ? nullptr : unrest();
    return mailbox->expect(receive.peer_message, {buffer.memory, receive.region, std::move(next),
                                                  std::move(handing_on), answer});
  };
  const Status status = submit();
  if (!status.ok()) {
    answer(status);
    return status.code() == Code::protocol_error ? status : Status();
  }
  return session_->device().on_reached(
      queue->local, false,
      [mailbox, peer_message = receive.peer_message](const QueueReport& report) {
        mailbox->activate(peer_message, report.status);
      });
}

// --- another daemon ------------------------------------------------------------------------------

Status Connection::join_as_peer(const wire::JoinPeer& join) {
  client_ = "a daemon's device";
  if (join.version != wire::kVersion) return refuse_version(join.version);
  if (!stream_->user().empty() && !stream_->from_daemon()) {
    return refuse(Code::denied, "only daemons deliver to an mailbox");
  }
  const auto mailbox = mailbox_ = directory_.mailboxes().find(join.access_key);
  if (mailbox == nullptr) {
    return refuse(Code::invalid_argument,
                  "no such mailbox (it was closed, or the access key is wrong)");
  }
  other_byte_order_ = join.big_endian != wire::kBigEndian;
  Mailbox::Deliverer deliverer(mailbox, [this] { stream_->shut_down(); });
  delivers_to_ = mailbox.get();  // for good: others may ask at any time
  OB_RETURN_IF_ERROR(replies_.send(Opcode::joined, {}, 0, {}));
  Status status = serve_peer(deliverer);
  if (mailbox->closed()) return {};  // its client has left
  return status;
}

Status Connection::serve_peer(Mailbox::Deliverer& deliverer) {
  for (;;) {
    OB_ASSIGN_OR_RETURN(const auto message, receiver_.poll());
    if (!message) {
      OB_RETURN_IF_ERROR(wait_for_bytes());
      continue;
    }
    if (message->header.opcode == Opcode::goodbye) {
      deliverer.leave_in_peace();
      return {};
    }
    if (message->header.opcode != Opcode::peer_message) {
      return {Code::protocol_error, "a peer sends peer messages only"};
    }
    OB_ASSIGN_OR_RETURN(const auto peer_message, wire::decode<wire::PeerMessage>(message->body));
    if (packed_bytes(peer_message.region) != message->header.payload_bytes) {
      return {Code::protocol_error, "a peer message is not as long as its region"};
    }
    OB_RETURN_IF_ERROR(check_words(peer_message.region));
    const std::uint32_t word_bytes = other_byte_order_ ? peer_message.region.word_bytes : 1;
    OB_RETURN_IF_ERROR(deliverer.deliver(
        peer_message, [&](const Layout& room) { return take_payload(room, word_bytes); },
        [] { return false; }));
    if (receiver_.payload_left() != 0) {
      return {Code::internal, "a peer message was not taken as a whole"};
    }
  }
}

}  // namespace ob::daemon
