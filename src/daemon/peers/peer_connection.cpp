#include "daemon/peers/peer_connection.hpp"

#include <utility>

#include "wire/codec.hpp"

namespace ob::daemon {

PeerConnection::PeerConnection(std::shared_ptr<Channel> channel, std::shared_ptr<Mailbox> mailbox,
                               ElementByteOrder byte_order)
    : channel_(std::move(channel)), mailbox_(std::move(mailbox)), byte_order_(byte_order) {
  source_.emplace(mailbox_, [raw = channel_.get()] { raw->shut_down(); });
}

Status PeerConnection::serve() {
  Status status = serve_messages();
  source_.reset();  // at once: the mailbox's client waits for the report of a loss
  // A closed mailbox has already ended the stream: its client has left.
  return mailbox_->closed() ? Status() : status;
}

Status PeerConnection::serve_messages() {
  for (;;) {
    const auto message = channel_->next_message();
    // The client of the mailbox may still wait for a message of this peer.
    const bool unused = message.status().code() == Code::deadline_exceeded;
    if (unused && !mailbox_->idle()) continue;
    OB_RETURN_IF_ERROR(message.status());
    if (message->header.opcode == wire::Opcode::goodbye) {
      source_->close();
      return {};
    }
    OB_RETURN_IF_ERROR(deliver(*message));
  }
}

Status PeerConnection::deliver(const session::Message& message) {
  if (message.header.opcode != wire::Opcode::peer_message) {
    return {Code::protocol_error, "a peer sends peer messages only"};
  }
  OB_ASSIGN_OR_RETURN(const auto peer_message, wire::decode<wire::PeerMessage>(message.body));
  const Region& region = peer_message.region;
  if (packed_bytes(region) != message.header.payload_bytes) {
    return {Code::protocol_error, "a peer message is not as long as its region"};
  }
  OB_RETURN_IF_ERROR(byte_order_.check(region));
  const std::uint32_t word_bytes = byte_order_.swapped_word_bytes(region);
  OB_RETURN_IF_ERROR(source_->deliver(
      peer_message, [&](const Layout& room) { return channel_->receive_payload(room, word_bytes); },
      [] { return false; }));
  if (channel_->receiver().payload_left() != 0) {
    return {Code::internal, "a peer message was not taken as a whole"};
  }
  return {};
}

}  // namespace ob::daemon
