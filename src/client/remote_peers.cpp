#include "client/remote_peers.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace ob::client {
namespace {

using wire::Opcode;

// The limit of remembered mailboxes, with and without a connection.
constexpr std::size_t kMaxPeers = 64;

// A daemon that cannot be reached cannot be reached with another access key either. A wrong access
// key may only be an old one.
bool cannot_be_reached(const Result<PeerId>& peer) {
  return !peer.ok() && peer.status().code() != Code::invalid_argument;
}

}  // namespace

Result<Mailbox> RemotePeers::mailbox() {
  OB_RETURN_IF_ERROR(link_.usable());
  if (mailbox_) return *mailbox_;
  OB_ASSIGN_OR_RETURN(const std::uint64_t sent, link_.command(Opcode::open_mailbox, {}));
  const auto opened = link_.connection().wait_mailbox(sent);
  if (!opened.ok()) return link_.note(opened.status());
  if (opened->code != Code::ok) return Status(opened->code, "the daemon opens no mailbox");
  mailbox_ = Mailbox{link_.connection().address(), opened->access_key};
  return *mailbox_;
}

Result<PeerId> RemotePeers::connect(const Mailbox& mailbox) {
  OB_RETURN_IF_ERROR(link_.usable());
  const auto known = std::find_if(peers_.begin(), peers_.end(), [&](const auto& peer) {
    const Mailbox& other = peer.first;
    return other.access_key == mailbox.access_key ||
           (cannot_be_reached(peer.second) && other.address == mailbox.address);
  });
  if (known != peers_.end()) return known->second;
  if (peers_.size() >= kMaxPeers) return Status(Code::denied, "too many peers");
  const PeerId id{link_.next_id()};
  OB_ASSIGN_OR_RETURN(const std::uint64_t sent,
                      link_.command(Opcode::connect_peer, {},
                                    wire::ConnectPeer{id, mailbox.access_key, mailbox.address}));
  const auto answer = link_.connection().wait_peer(sent);
  if (!answer.ok()) return link_.note(answer.status());
  peers_.emplace_back(mailbox, answer->code == Code::ok
                                   ? Result<PeerId>(id)
                                   : Result<PeerId>(Status(answer->code, answer->message)));
  return peers_.back().second;
}

Status RemotePeers::send(QueueId queue, PeerId peer, PeerMessageId peer_message, BufferId buffer,
                         const Region& region) {
  OB_RETURN_IF_ERROR(buffers_.check(buffer, region));
  OB_RETURN_IF_ERROR(buffers_.submit(Opcode::send, queue,
                                     wire::Send{peer, peer_message, buffer, region}, {buffer}));
  return link_.note(link_.connection().flush());  // another device may wait for the message
}

Status RemotePeers::receive(QueueId queue, PeerMessageId peer_message, BufferId buffer,
                            const Region& region, PeerId next) {
  OB_RETURN_IF_ERROR(buffers_.check(buffer, region));
  wire::Body body;
  wire::encode(wire::Receive{peer_message, buffer, region, next}, body);
  const std::array<BufferId, 1> uses{buffer};
  OB_ASSIGN_OR_RETURN(const std::uint64_t sent,
                      buffers_.submit(Opcode::receive, queue, body.bytes(), uses));
  if (sent == 0) return queues_.failure(queue);  // the daemon would not answer
  posted_receives_[peer_message] = sent;
  return link_.note(link_.connection().flush());  // the sender may wait
}

Status RemotePeers::await(PeerMessageId peer_message, const std::function<bool()>& give_up) {
  OB_RETURN_IF_ERROR(link_.usable());
  const auto at = posted_receives_.find(peer_message);
  if (at == posted_receives_.end()) {
    return {Code::invalid_argument,
            "peer message " + std::to_string(peer_message.value) + " was not asked for"};
  }
  auto answer = link_.connection().wait_received(at->second, give_up);
  if (!answer.ok()) return link_.note(answer.status());
  posted_receives_.erase(at);
  return {answer->code, answer->message};
}

Status RemotePeers::check() {
  OB_RETURN_IF_ERROR(link_.usable());
  return link_.note(link_.connection().ping().status());
}

Status RemotePeers::leave() {
  OB_RETURN_IF_ERROR(link_.usable());
  OB_RETURN_IF_ERROR(link_.command(Opcode::close_mailbox, {}).status());
  mailbox_.reset();
  // The daemon has answered each receive, or will soon: closing ends every receive.
  for (const auto& [peer_message, sequence] : posted_receives_) {
    const auto answer = link_.connection().wait_received(sequence, [] { return false; });
    if (!answer.ok()) return link_.note(answer.status());
  }
  posted_receives_.clear();
  for (const auto& [mailbox, peer] : std::exchange(peers_, {})) {
    if (cannot_be_reached(peer)) peers_.emplace_back(mailbox, peer);
    if (!peer.ok()) continue;
    OB_RETURN_IF_ERROR(
        link_.command(Opcode::disconnect_peer, {}, wire::DisconnectPeer{*peer}).status());
  }
  return link_.note(link_.connection().flush());
}

}  // namespace ob::client
