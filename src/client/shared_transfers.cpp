// The work of a shared device with others: peer messages, grants, and waits for their events.

#include <array>
#include <string>
#include <utility>

#include "client/shared_device.hpp"

namespace ob::client {

using wire::Opcode;

// The answers come to the connections of queues, under their locks.
void SharedDevice::watch_received(SessionConnection& connection) const {
  connection.set_received_listener([broken = mailbox_broken_](const wire::Outcome& outcome) {
    if (outcome.code == Code::connection_lost) broken->store(true, std::memory_order_release);
  });
}

// --- peers ---------------------------------------------------------------------------------------

Result<Mailbox> SharedDevice::mailbox() {
  OB_RETURN_IF_ERROR(usable());
  const auto access_key = main_->open_mailbox();
  if (!access_key.ok()) return note(access_key.status());
  return Mailbox{address_, *access_key};
}

Status SharedDevice::close_mailbox() {
  OB_RETURN_IF_ERROR(usable());
  const auto sent = main_->command(Opcode::close_mailbox, std::span<const std::byte>());
  if (!sent.ok()) return note(sent.status());
  // Commands of other connections must find it closed.
  OB_RETURN_IF_ERROR(note(main_->wait_read(*sent)));
  mailbox_broken_->store(false, std::memory_order_release);
  return {};
}

Result<PeerId> SharedDevice::connect(const Mailbox& mailbox) {
  OB_RETURN_IF_ERROR(usable());
  const PeerId peer{main_->next_id()};
  OB_RETURN_IF_ERROR(
      note(main_->connect_peer(wire::ConnectPeer{peer, mailbox.access_key, mailbox.address})));
  return peer;
}

// Messages that are being sent have a second to arrive.
Status SharedDevice::disconnect(PeerId peer) {
  OB_RETURN_IF_ERROR(usable());
  return note(main_->command(Opcode::disconnect_peer, wire::DisconnectPeer{peer}).status());
}

Status SharedDevice::submit_transfer(QueueId queue, BufferId buffer, Opcode opcode,
                                     std::span<const std::byte> body, bool counted) {
  const std::array uses{Named{buffers_, buffer.value, "buffer"}};
  OB_ASSIGN_OR_RETURN(const Queue by, find_queue(queue));
  OB_RETURN_IF_ERROR(wait_made(uses));
  const auto sent = by.connection->submit(
      queue, {.counted = counted}, [&](Connection& to) { return to.command(opcode, queue, body); });
  if (!sent.ok()) return note(sent.status());
  if (*sent == 0) return by.connection->failure(queue);  // the other side must not wait for it
  note_uses(uses, {by.connection, by.progress, *sent});
  return {};
}

Status SharedDevice::send(QueueId queue, PeerId peer, PeerMessageId peer_message, BufferId buffer,
                          const Region& region, bool counted) {
  wire::Body body;
  wire::encode(wire::Send{peer, peer_message, buffer, region}, body);
  return submit_transfer(queue, buffer, Opcode::send, body.bytes(), counted);
}

Status SharedDevice::receive(QueueId queue, PeerMessageId peer_message, BufferId buffer,
                             const Region& region, PeerId next, bool counted) {
  wire::Body body;
  wire::encode(wire::Receive{peer_message, buffer, region, next}, body);
  return submit_transfer(queue, buffer, Opcode::receive, body.bytes(), counted);
}

Status SharedDevice::record_transfer(QueueId queue, EventId event) {
  return record_by(queue, event, Opcode::record_transfer, {.always = true, .counted = false});
}

// --- grants --------------------------------------------------------------------------------------

Result<SharedDevice::MadeGrant> SharedDevice::create_grant(const GrantTerms& terms) {
  OB_RETURN_IF_ERROR(usable());
  const GrantId id{main_->next_id()};
  const auto secret = main_->create_grant({id, terms.buffer, terms.offset_bytes, terms.size_bytes,
                                           terms.may, terms.seconds, terms.uses, terms.user});
  if (!secret.ok()) return note(secret.status());
  return MadeGrant{id, {address_, *secret}};
}

Status SharedDevice::revoke_grant(GrantId grant) {
  OB_RETURN_IF_ERROR(usable());
  const auto sent = main_->command(Opcode::revoke_grant, wire::RevokeGrant{grant});
  if (!sent.ok()) return note(sent.status());
  return note(main_->wait_read(*sent));
}

// The grant was answered on the main connection, so the daemon knows it.
Status SharedDevice::await_grant(QueueId queue, GrantId grant, std::uint64_t landed) {
  std::uint64_t sequence = 0;
  OB_RETURN_IF_ERROR(submit(queue, {}, [&](Connection& to) {
    auto sent = to.command(Opcode::await_grant, queue, wire::AwaitGrant{grant, landed});
    if (sent.ok()) sequence = *sent;
    return sent;
  }));
  if (sequence != 0) note_outside(queue, sequence);
  return {};
}

Status SharedDevice::copy_granted(QueueId queue, Opcode opcode, const Mailbox& grant,
                                  std::uint64_t grant_offset_bytes, BufferRef here,
                                  std::uint64_t size_bytes) {
  const std::array uses{Named{buffers_, here.buffer.value, "buffer"}};
  const wire::GrantCopy body{grant.access_key,  grant_offset_bytes, here.buffer,
                             here.offset_bytes, size_bytes,         grant.address};
  return submit(queue, uses, [&](Connection& to) { return to.command(opcode, queue, body); });
}

Status SharedDevice::failure(QueueId queue) {
  OB_ASSIGN_OR_RETURN(const ConnectionPtr connection, connection_of(queue));
  return connection->failure(queue);
}

// --- events of other devices ---------------------------------------------------------------------

// A copy straight into a mapped buffer would overtake such a wait.
void SharedDevice::note_outside(QueueId queue, std::uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  const auto at = queues_.find(queue);
  if (at != queues_.end()) at->second.outside = sequence;
}

bool SharedDevice::waits_outside(QueueId queue) const {
  const std::lock_guard lock(mutex_);
  const auto at = queues_.find(queue);
  return at != queues_.end() && !at->second.progress->is_over(at->second.outside);
}

Status SharedDevice::hold(QueueId queue, std::shared_ptr<const Gate> gate) {
  OB_ASSIGN_OR_RETURN(const ConnectionPtr connection, connection_of(queue));
  if (connection == main_) {
    // A thread that waits for the queue would keep the release from being sent.
    return {Code::unavailable,
            "the queue cannot wait for another device (the daemon takes no further connection of "
            "this process); wait with ob_event_wait()"};
  }
  const GateId id{main_->next_id()};
  const auto sent = connection->submit(
      queue, {}, [&](Connection& to) { return to.command(Opcode::hold, queue, wire::Hold{id}); });
  if (!sent.ok()) return note(sent.status());
  if (*sent == 0) return {};  // skipped
  note_outside(queue, *sent);
  // The gate may open on a thread that holds the lock of a connection, and after this device.
  gate->when_open([proxy = proxy_, main = std::weak_ptr(main_), id](const Status& outcome) {
    proxy->post([main, id, code = outcome.code()] {
      const auto way = main.lock();
      if (way == nullptr) return;
      (void)way->command(Opcode::release, wire::Release{id, code});
      (void)way->flush();
    });
  });
  return {};
}

}  // namespace ob::client
