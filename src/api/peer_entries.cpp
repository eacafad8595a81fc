// The functions of copies from device to device.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/handles.hpp"
#include "api/peer_objects.hpp"
#include "api/place.hpp"
#include "api/queue_use.hpp"
#include "api/rectangle.hpp"
#include "base/overlap.hpp"

namespace ob::api {
namespace {

// Staging memory of a copy that passes through this process.
constexpr std::uint64_t kRelayBytes = 8 << 20;
constexpr std::uint64_t kLastNumber = INT64_MAX;

// --- copies --------------------------------------------------------------------------------------

// One end of a copy.
struct End {
  Queue& queue;
  BufferId buffer;
  Region region;

  Device& device() const { return **queue.device; }
};

// Two queues of one device: each waits for the other.
Status copy_inside(const End& from, const End& to) {
  Device& device = from.device();
  if (&from.queue == &to.queue) {
    return device.copy(to.queue.id, from.buffer, from.region, to.buffer, to.region);
  }
  OB_ASSIGN_OR_RETURN(const EventId ready, from.queue.copied());
  OB_ASSIGN_OR_RETURN(const EventId done, to.queue.copied());
  OB_RETURN_IF_ERROR(device.record(from.queue.id, ready));
  OB_RETURN_IF_ERROR(device.wait(to.queue.id, ready));
  OB_RETURN_IF_ERROR(device.copy(to.queue.id, from.buffer, from.region, to.buffer, to.region));
  OB_RETURN_IF_ERROR(device.record(to.queue.id, done));
  return device.wait(from.queue.id, done);
}

// Holds the queue until its last message has arrived or left.
Status hold_for_message(Queue& queue) {
  OB_ASSIGN_OR_RETURN(const EventId done, queue.copied());
  OB_RETURN_IF_ERROR(queue.device->remote()->record_transfer(queue.id, done));
  return (*queue.device)->wait(queue.id, done);
}

// A message from the one device to the other.
Status copy_direct(const End& from, PeerId peer, const End& to) {
  client::SharedDevice& sender = *from.queue.device->remote();
  client::SharedDevice& receiver = *to.queue.device->remote();
  // A message without its receive would delay all later ones.
  OB_RETURN_IF_ERROR(sender.failure(from.queue.id));
  OB_RETURN_IF_ERROR(receiver.failure(to.queue.id));
  const PeerMessageId number = PeerCopies::next_number();
  OB_RETURN_IF_ERROR(receiver.receive(to.queue.id, number, to.buffer, to.region, {}, false));
  OB_RETURN_IF_ERROR(hold_for_message(to.queue));
  OB_RETURN_IF_ERROR(sender.send(from.queue.id, peer, number, from.buffer, from.region, false));
  OB_RETURN_IF_ERROR(hold_for_message(from.queue));
  // Both commands leave now: each device may wait for the other.
  OB_RETURN_IF_ERROR(receiver.flush(to.queue.id));
  return sender.flush(from.queue.id);
}

// Calls `move`, a Status(from, to), with equal parts of both regions, of at most kRelayBytes.
template <class Move>
Status for_each_part(const Region& from, const Region& to, Move move) {
  const std::uint64_t column_bytes = from.rows * from.element_bytes;
  const std::uint64_t columns = std::max<std::uint64_t>(1, kRelayBytes / column_bytes);
  const std::uint64_t rows =
      std::min(from.rows, std::max<std::uint64_t>(1, kRelayBytes / from.element_bytes));
  const auto part = [](Region whole, std::uint64_t row, std::uint64_t column, std::uint64_t height,
                       std::uint64_t width) {
    whole.offset_bytes += (column * whole.ld + row) * whole.element_bytes;
    whole.rows = std::min(height, whole.rows - row);
    whole.cols = std::min(width, whole.cols - column);
    if (whole.cols == 1) whole.ld = whole.rows;
    return whole;
  };
  for (std::uint64_t column = 0; column < from.cols; column += columns) {
    for (std::uint64_t row = 0; row < from.rows; row += rows) {
      OB_RETURN_IF_ERROR(
          move(part(from, row, column, rows, columns), part(to, row, column, rows, columns)));
    }
  }
  return {};
}

// Through this process, which waits for each part. The failures stay in their queues.
Status copy_relayed(const End& from, const End& to) {
  OB_RETURN_IF_ERROR(check_may_wait("ob_copy_between through this process"));
  const std::uint64_t bytes = std::min(kRelayBytes, packed_bytes(from.region));
  const auto memory = std::make_unique<std::byte[]>(bytes);
  return for_each_part(
      from.region, to.region, [&](const Region& source, const Region& target) -> Status {
        const Layout staged = Layout::bytes(memory.get(), packed_bytes(source));
        OB_RETURN_IF_ERROR(from.device().read(from.queue.id, from.buffer, source, staged));
        const auto read = from.queue.await(false, Deadline::max());
        OB_RETURN_IF_ERROR(read->status);
        OB_RETURN_IF_ERROR(to.device().write(to.queue.id, to.buffer, target, staged));
        // The message to a remote device has left; others read the memory in their turn.
        if (to.queue.device->remote() == nullptr) (void)to.queue.await(false, Deadline::max());
        return {};
      });
}

bool is_reachable(const Status& status) {
  return status.code() != Code::unavailable && status.code() != Code::denied &&
         status.code() != Code::unsupported;
}

Outcome copy_apart(const End& from, const End& to) {
  if (from.queue.device->remote() == nullptr || to.queue.device->remote() == nullptr) {
    return copy_relayed(from, to);
  }
  OB_ASSIGN_OR_RETURN(const Mailbox mailbox, to.queue.device->copies().for_copies());
  const auto peer = from.queue.device->copies().link(from.queue.id, mailbox);
  if (peer.ok()) return copy_direct(from, *peer, to);
  if (is_reachable(peer.status())) return peer.status();
  return copy_relayed(from, to);
}

Outcome copy_between(ob_queue from_handle, const ob_place& from_place, ob_queue to_handle,
                     const ob_place& to_place, const ob_rect* rect) {
  Sides sides;
  if (Outcome outcome = sides_of(rect, to_place.offset_bytes, sides); !outcome.ok()) return outcome;
  if (rect->flags != 0) return mistake("unknown flags of ob_copy_between; pass 0");
  sides.host.offset_bytes = from_place.offset_bytes;
  OB_ASSIGN_OR_RETURN(const QueueUse from_queue, QueueUse::begin(from_handle));
  std::optional<QueueUse> other;
  if (to_handle != from_handle) {
    OB_ASSIGN_OR_RETURN(QueueUse use, QueueUse::begin(to_handle));
    other.emplace(std::move(use));
  }
  const QueueUse& to_queue = other ? *other : from_queue;
  OB_ASSIGN_OR_RETURN(const auto source, buffer_of(from_place, *from_queue->device));
  OB_ASSIGN_OR_RETURN(const auto target, buffer_of(to_place, *to_queue->device));
  OB_RETURN_IF_ERROR(check_inside("copy", *source, sides.host));
  OB_RETURN_IF_ERROR(check_inside("copy", *target, sides.device));
  if (packed_bytes(sides.device) == 0) return {};
  if (source == target && overlap(sides.device, sides.host)) {
    return mistake("source and destination of a copy overlap; copy through another buffer");
  }
  for (const auto* device : {from_queue->device.get(), to_queue->device.get()}) {
    if (Outcome outcome = check_words(*device, sides.device); !outcome.ok()) return outcome;
  }
  const End from{*from_queue, source->id, sides.host};
  const End to{*to_queue, target->id, sides.device};
  Outcome outcome = from_queue->device == to_queue->device ? Outcome(copy_inside(from, to))
                                                           : copy_apart(from, to);
  if (!outcome.ok()) return outcome;
  from_queue->count();
  if (other) to_queue->count();
  return {};
}

// --- messages ------------------------------------------------------------------------------------

Outcome check_number(std::uint64_t number) {
  if (number != 0 && number <= kLastNumber) return {};
  return mistake("a message has the number " + std::to_string(number) +
                 "; give it one from 1 to 2^63 - 1");
}

// The region of a message in its buffer.
Outcome message_region(const ob_rect* rect, const ob_place& place, const QueueUse& queue,
                       const char* command, std::shared_ptr<Buffer>& buffer, Region& region) {
  if (rect == nullptr) return mistake("no rectangle (the pointer is NULL)");
  ob_rect alone = *rect;
  alone.host_pitch_bytes = alone.device_pitch_bytes;
  Sides sides;
  if (Outcome outcome = sides_of(&alone, place.offset_bytes, sides); !outcome.ok()) return outcome;
  if (rect->flags != 0) return mistake("unknown flags of a message; pass 0");
  region = sides.device;
  OB_ASSIGN_OR_RETURN(buffer, buffer_of(place, *queue->device));
  OB_RETURN_IF_ERROR(check_inside(command, *buffer, region));
  if (packed_bytes(region) == 0) return mistake("a message of 0 bytes; give it at least one");
  return {};
}

Outcome find_event(ob_event handle, const QueueUse& queue, std::shared_ptr<Event>& event) {
  if (handle == nullptr) return {};
  OB_ASSIGN_OR_RETURN(event, find<Event>(handle));
  if (event->device == queue->device) return {};
  return mistake("the event is of another device than the queue; make one of the queue's device");
}

Outcome find_peer(ob_peer handle, const QueueUse& queue, std::shared_ptr<ConnectedPeer>& peer) {
  OB_ASSIGN_OR_RETURN(peer, find<ConnectedPeer>(handle));
  if (peer->device == queue->device) return {};
  return mistake("the peer was connected to another device than the queue's; connect it to this");
}

Outcome open_mailbox(ob_device device, char* address, ob_mailbox* mailbox) {
  OB_RETURN_IF_ERROR(check_may_wait("ob_mailbox_open"));
  if (address == nullptr || mailbox == nullptr) {
    return mistake("no place for the mailbox or its address (the pointer is NULL)");
  }
  OB_ASSIGN_OR_RETURN(const DevicePtr found, find<OpenDevice>(device));
  OB_ASSIGN_OR_RETURN(const Mailbox opened, found->copies().open());
  auto made = std::make_shared<OpenMailbox>(found);
  const std::string text =
      address_text(kMailboxAddress, opened);  // a daemon's address has 255 bytes at most
  const std::size_t bytes = text.copy(address, OB_ADDRESS_BYTES - 1);
  address[bytes] = '\0';
  *mailbox = add(std::move(made));
  return {};
}

Outcome close_mailbox(ob_mailbox mailbox) {
  OB_RETURN_IF_ERROR(check_may_wait("ob_mailbox_close"));
  return take<OpenMailbox>(mailbox).status();
}

Outcome connect_peer(ob_device device, const char* address, ob_peer* peer) {
  OB_RETURN_IF_ERROR(check_may_wait("ob_peer_connect"));
  if (address == nullptr || peer == nullptr) {
    return mistake("no address, or no place for the peer (the pointer is NULL)");
  }
  OB_ASSIGN_OR_RETURN(const DevicePtr found, find<OpenDevice>(device));
  OB_ASSIGN_OR_RETURN(const Mailbox to, read_address(kMailboxAddress, address));
  if (found->remote() == nullptr) {
    return Outcome(Status(Code::unsupported,
                          "the device is in this process, and only daemons send messages; open it "
                          "behind a daemon, or use ob_copy_between"));
  }
  OB_ASSIGN_OR_RETURN(const PeerId id, found->remote()->connect(to));
  *peer = add(std::make_shared<ConnectedPeer>(found, id));
  return {};
}

Outcome send(ob_queue queue_handle, ob_peer peer_handle, std::uint64_t number,
             const ob_place& place, const ob_rect* rect, ob_event sent_handle) {
  if (Outcome outcome = check_number(number); !outcome.ok()) return outcome;
  OB_ASSIGN_OR_RETURN(const QueueUse queue, QueueUse::begin(queue_handle));
  std::shared_ptr<ConnectedPeer> peer;
  if (Outcome outcome = find_peer(peer_handle, queue, peer); !outcome.ok()) return outcome;
  std::shared_ptr<Event> sent;
  if (Outcome outcome = find_event(sent_handle, queue, sent); !outcome.ok()) return outcome;
  std::shared_ptr<Buffer> buffer;
  Region region;
  Outcome outcome = message_region(rect, place, queue, "send", buffer, region);
  if (!outcome.ok()) return outcome;
  OB_RETURN_IF_ERROR(queue->device->remote()->send(queue->id, peer->id, PeerMessageId{number},
                                                   buffer->id, region, true));
  queue->count();
  if (sent != nullptr) OB_RETURN_IF_ERROR(sent->record_transfer(queue->id));
  return {};
}

Outcome receive(ob_queue queue_handle, ob_mailbox mailbox_handle, std::uint64_t number,
                const ob_place& place, const ob_rect* rect, ob_peer next_handle,
                ob_event arrived_handle) {
  if (Outcome outcome = check_number(number); !outcome.ok()) return outcome;
  OB_ASSIGN_OR_RETURN(const QueueUse queue, QueueUse::begin(queue_handle));
  OB_ASSIGN_OR_RETURN(const auto mailbox, find<OpenMailbox>(mailbox_handle));
  if (mailbox->device != queue->device) {
    return mistake("the mailbox is of another device than the queue; use a queue of its device");
  }
  std::shared_ptr<ConnectedPeer> next;
  if (next_handle != nullptr) {
    if (Outcome outcome = find_peer(next_handle, queue, next); !outcome.ok()) return outcome;
  }
  std::shared_ptr<Event> arrived;
  if (Outcome outcome = find_event(arrived_handle, queue, arrived); !outcome.ok()) return outcome;
  std::shared_ptr<Buffer> buffer;
  Region region;
  Outcome outcome = message_region(rect, place, queue, "receive", buffer, region);
  if (!outcome.ok()) return outcome;
  OB_RETURN_IF_ERROR(queue->device->remote()->receive(queue->id, PeerMessageId{number}, buffer->id,
                                                      region, next == nullptr ? PeerId{} : next->id,
                                                      arrived != nullptr));
  queue->count();
  if (arrived == nullptr) return hold_for_message(*queue);
  return arrived->record_transfer(queue->id);
}

}  // namespace
}  // namespace ob::api

using namespace ob::api;  // NOLINT(google-build-using-namespace): exported C functions only

OB_EXPORT ob_status ob_copy_between(ob_queue from_queue, ob_place from, ob_queue to_queue,
                                    ob_place to, const ob_rect* rect) {
  return answer([&] { return copy_between(from_queue, from, to_queue, to, rect); });
}

OB_EXPORT ob_status ob_mailbox_open(ob_device device, char address[OB_ADDRESS_BYTES],
                                    ob_mailbox* mailbox) {
  return answer([&] { return open_mailbox(device, address, mailbox); });
}

OB_EXPORT ob_status ob_mailbox_close(ob_mailbox mailbox) {
  return answer([&] { return close_mailbox(mailbox); });
}

OB_EXPORT ob_status ob_peer_connect(ob_device device, const char* address, ob_peer* peer) {
  return answer([&] { return connect_peer(device, address, peer); });
}

OB_EXPORT ob_status ob_peer_disconnect(ob_peer peer) {
  return answer([&]() -> Outcome { return take<ConnectedPeer>(peer).status(); });
}

OB_EXPORT ob_status ob_send(ob_queue queue, ob_peer peer, uint64_t number, ob_place from,
                            const ob_rect* rect, ob_event sent) {
  return answer([&] { return send(queue, peer, number, from, rect, sent); });
}

OB_EXPORT ob_status ob_receive(ob_queue queue, ob_mailbox mailbox, uint64_t number, ob_place to,
                               const ob_rect* rect, ob_peer next, ob_event arrived) {
  return answer([&] { return receive(queue, mailbox, number, to, rect, next, arrived); });
}
