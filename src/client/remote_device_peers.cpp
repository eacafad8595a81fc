// From device to device: this process only says what goes where.

#include <algorithm>
#include <utility>

#include "client/remote_device.hpp"

namespace ob::client {
namespace {

using wire::Opcode;

// Mailboxes that were connected to, or could not be.
constexpr std::size_t kMostPeers = 64;

// Who cannot be reached now cannot be so under another access key; a access key may just be an old
// one.
bool cannot_be_reached(const Result<PeerId>& peer) {
  return !peer.ok() && peer.status().code() != Code::invalid_argument;
}

}  // namespace

Result<Mailbox> RemoteDevice::mailbox() {
  OB_RETURN_IF_ERROR(usable());
  if (mailbox_) return *mailbox_;
  auto sent = connection_->command(Opcode::open_mailbox, {}, std::span<const std::byte>());
  auto opened = sent.ok() ? connection_->wait_inbox(*sent) : Result<wire::Mailbox>(sent.status());
  if (!opened.ok()) return note(opened.status());
  if (opened->code != Code::ok) return Status(opened->code, "the daemon opens no mailbox");
  mailbox_ = Mailbox{connection_->address(), opened->access_key};
  return *mailbox_;
}

Result<PeerId> RemoteDevice::connect(const Mailbox& mailbox) {
  OB_RETURN_IF_ERROR(usable());
  const auto known = std::find_if(peers_.begin(), peers_.end(), [&](const auto& peer) {
    const Mailbox& other = peer.first;
    return other.access_key == mailbox.access_key ||
           (cannot_be_reached(peer.second) && other.address == mailbox.address);
  });
  if (known != peers_.end()) return known->second;
  if (peers_.size() >= kMostPeers) return Status(Code::denied, "too many peers");
  const PeerId id{next_id_++};
  auto sent = connection_->command(Opcode::connect_peer, {},
                                   wire::ConnectPeer{id, mailbox.access_key, mailbox.address});
  auto answer = sent.ok() ? connection_->wait_peer(*sent) : Result<wire::Outcome>(sent.status());
  if (!answer.ok()) return note(answer.status());
  peers_.emplace_back(mailbox, answer->code == Code::ok
                                   ? Result<PeerId>(id)
                                   : Result<PeerId>(Status(answer->code, answer->message)));
  return peers_.back().second;
}

Status RemoteDevice::send(QueueId queue, PeerId peer, PeerMessageId peer_message, BufferId buffer,
                          const Region& region) {
  OB_RETURN_IF_ERROR(find(buffer, region).status());
  wire::Body body;
  wire::encode(wire::Send{peer, peer_message, buffer, region}, body);
  OB_RETURN_IF_ERROR(submit(Opcode::send, queue, body.bytes(), {&buffer, 1}));
  return note(connection_->flush());  // others wait for it, and for what it waits for
}

Status RemoteDevice::receive(QueueId id, PeerMessageId peer_message, BufferId buffer_id,
                             const Region& region, PeerId next) {
  OB_ASSIGN_OR_RETURN(Buffer * buffer, find(buffer_id, region));
  OB_RETURN_IF_ERROR(finish_pending_reads(*buffer));
  Queue* queue = nullptr;
  OB_ASSIGN_OR_RETURN(const bool healthy, enter(id, queue));
  if (!healthy) return queue->report.status;  // there would be no answer
  auto sent = connection_->command(Opcode::receive, id,
                                   wire::Receive{peer_message, buffer_id, region, next});
  if (!sent.ok()) return note(sent.status());
  note_use(*buffer, id, *sent);
  awaited_[peer_message] = *sent;
  return note(connection_->flush());  // who sends may be waiting
}

Status RemoteDevice::await(PeerMessageId peer_message, const std::function<bool()>& give_up) {
  OB_RETURN_IF_ERROR(usable());
  const auto at = awaited_.find(peer_message);
  if (at == awaited_.end()) {
    return {Code::invalid_argument,
            "peer message " + std::to_string(peer_message.value) + " was not asked for"};
  }
  auto answer = connection_->wait_received(at->second, give_up);
  if (!answer.ok()) return note(answer.status());
  awaited_.erase(at);
  return {answer->code, answer->message};
}

Status RemoteDevice::check() {
  OB_RETURN_IF_ERROR(usable());
  return note(connection_->ping().status());
}

Status RemoteDevice::leave() {
  OB_RETURN_IF_ERROR(usable());
  const auto closed = connection_->command(Opcode::close_mailbox, {}, std::span<const std::byte>());
  if (!closed.ok()) return note(closed.status());
  mailbox_.reset();
  // Each is told why by now, or will be: nobody waits for it.
  for (const auto& [peer_message, sequence] : awaited_) {
    auto answer = connection_->wait_received(sequence, [] { return false; });
    if (!answer.ok()) return note(answer.status());
  }
  awaited_.clear();
  for (const auto& [mailbox, peer] : std::exchange(peers_, {})) {
    if (cannot_be_reached(peer)) peers_.emplace_back(mailbox, peer);
    if (!peer.ok()) continue;
    auto sent = connection_->command(Opcode::disconnect_peer, {}, wire::DisconnectPeer{*peer});
    if (!sent.ok()) return note(sent.status());
  }
  return note(connection_->flush());
}

}  // namespace ob::client
