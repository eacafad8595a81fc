// From device to device: this process only says what goes where.

#include <algorithm>
#include <utility>

#include "client/remote_device.hpp"

namespace ob::client {
namespace {

using wire::Opcode;

// Inboxes that were connected to, or could not be.
constexpr std::size_t kMostPeers = 64;

// Who cannot be reached now cannot be so under another ticket; a ticket may just be an old one.
bool cannot_be_reached(const Result<PeerId>& peer) {
  return !peer.ok() && peer.status().code() != Code::invalid_argument;
}

}  // namespace

Result<Inbox> RemoteDevice::inbox() {
  OB_RETURN_IF_ERROR(usable());
  if (inbox_) return *inbox_;
  auto sent = connection_->command(Opcode::open_inbox, {}, std::span<const std::byte>());
  auto opened = sent.ok() ? connection_->wait_inbox(*sent) : Result<wire::Inbox>(sent.status());
  if (!opened.ok()) return note(opened.status());
  if (opened->code != Code::ok) return Status(opened->code, "the daemon opens no inbox");
  inbox_ = Inbox{connection_->address(), opened->ticket};
  return *inbox_;
}

Result<PeerId> RemoteDevice::connect(const Inbox& inbox) {
  OB_RETURN_IF_ERROR(usable());
  const auto known = std::find_if(peers_.begin(), peers_.end(), [&](const auto& peer) {
    const Inbox& other = peer.first;
    return other.ticket == inbox.ticket ||
           (cannot_be_reached(peer.second) && other.address == inbox.address);
  });
  if (known != peers_.end()) return known->second;
  if (peers_.size() >= kMostPeers) return Status(Code::denied, "too many peers");
  const PeerId id{next_id_++};
  auto sent = connection_->command(Opcode::connect_peer, {},
                                   wire::ConnectPeer{id, inbox.ticket, inbox.address});
  auto answer = sent.ok() ? connection_->wait_peer(*sent) : Result<wire::Outcome>(sent.status());
  if (!answer.ok()) return note(answer.status());
  peers_.emplace_back(inbox, answer->code == Code::ok
                                 ? Result<PeerId>(id)
                                 : Result<PeerId>(Status(answer->code, answer->message)));
  return peers_.back().second;
}

Status RemoteDevice::send(QueueId queue, PeerId peer, ParcelId parcel, BufferId buffer,
                          const Region& region) {
  OB_RETURN_IF_ERROR(find(buffer, region).status());
  wire::Body body;
  wire::encode(wire::Send{peer, parcel, buffer, region}, body);
  OB_RETURN_IF_ERROR(submit(Opcode::send, queue, body.bytes(), {&buffer, 1}));
  return note(connection_->flush());  // others wait for it, and for what it waits for
}

Status RemoteDevice::receive(QueueId id, ParcelId parcel, BufferId buffer_id, const Region& region,
                             PeerId next) {
  OB_ASSIGN_OR_RETURN(Buffer * buffer, find(buffer_id, region));
  OB_RETURN_IF_ERROR(finish_pending_reads(*buffer));
  Queue* queue = nullptr;
  OB_ASSIGN_OR_RETURN(const bool healthy, enter(id, queue));
  if (!healthy) return queue->report.status;  // there would be no answer
  auto sent =
      connection_->command(Opcode::receive, id, wire::Receive{parcel, buffer_id, region, next});
  if (!sent.ok()) return note(sent.status());
  note_use(*buffer, id, *sent);
  awaited_[parcel] = *sent;
  return note(connection_->flush());  // who sends may be waiting
}

Status RemoteDevice::await(ParcelId parcel, const std::function<bool()>& give_up) {
  OB_RETURN_IF_ERROR(usable());
  const auto at = awaited_.find(parcel);
  if (at == awaited_.end()) {
    return {Code::invalid_argument,
            "parcel " + std::to_string(parcel.value) + " was not asked for"};
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
  const auto closed = connection_->command(Opcode::close_inbox, {}, std::span<const std::byte>());
  if (!closed.ok()) return note(closed.status());
  inbox_.reset();
  // Each is told why by now, or will be: nobody waits for it.
  for (const auto& [parcel, sequence] : awaited_) {
    auto answer = connection_->wait_received(sequence, [] { return false; });
    if (!answer.ok()) return note(answer.status());
  }
  awaited_.clear();
  for (const auto& [inbox, peer] : std::exchange(peers_, {})) {
    if (cannot_be_reached(peer)) peers_.emplace_back(inbox, peer);
    if (!peer.ok()) continue;
    auto sent = connection_->command(Opcode::disconnect_peer, {}, wire::DisconnectPeer{*peer});
    if (!sent.ok()) return note(sent.status());
  }
  return note(connection_->flush());
}

}  // namespace ob::client
