// Bodies of what goes from device to device, in the order of wire/message.hpp.

#include <algorithm>
#include <string>

#include "wire/body_parts.hpp"

namespace ob::wire {
namespace {

PeerMessageId take_peer_message(Fields& fields) {
  const auto peer_message = fields.id<PeerMessageId>("peer_message");
  if (!peer_message) fields.refuse("peer_message", "is 0");
  return peer_message;
}

}  // namespace

template <>
void encode(const Mailbox& message, Body& body) noexcept {
  body.u8(static_cast<std::uint8_t>(message.code));
  body.pad_to_8();
  put(body, message.access_key);
}

template <>
Result<Mailbox> decode(std::span<const std::byte> bytes) {
  Fields fields("mailbox", bytes);
  Mailbox message;
  message.code = fields.up_to("code", kLastCode);
  fields.padding();
  message.access_key = take_token(fields, "access key");
  const bool open = message.code == Code::ok;
  if ((message.access_key != Token{}) != open) {
    fields.refuse("access key", open ? "is 0" : "is not 0 (there is no mailbox)");
  }
  return finish(fields, message);
}

template <>
void encode(const ConnectPeer& message, Body& body) noexcept {
  body.u64(message.peer.value);
  put(body, message.access_key);
  body.text(message.address, kMaxNameBytes);
}

template <>
Result<ConnectPeer> decode(std::span<const std::byte> bytes) {
  Fields fields("connect_peer", bytes);
  ConnectPeer message;
  message.peer = fields.id<PeerId>("peer");
  message.access_key = take_token(fields, "access key");
  message.address = fields.text("address", kMaxNameBytes);
  return finish(fields, message);
}

template <>
void encode(const DisconnectPeer& message, Body& body) noexcept {
  body.u64(message.peer.value);
}

template <>
Result<DisconnectPeer> decode(std::span<const std::byte> bytes) {
  Fields fields("disconnect_peer", bytes);
  DisconnectPeer message{fields.id<PeerId>("peer")};
  return finish(fields, message);
}

template <>
void encode(const Send& message, Body& body) noexcept {
  body.u64(message.peer.value);
  body.u64(message.peer_message.value);
  body.u64(message.buffer.value);
  put(body, message.region);
}

template <>
Result<Send> decode(std::span<const std::byte> bytes) {
  Fields fields("send", bytes);
  Send message;
  message.peer = fields.id<PeerId>("peer");
  message.peer_message = take_peer_message(fields);
  message.buffer = fields.id<BufferId>("buffer");
  message.region = take_region(fields, "region");
  return finish(fields, message);
}

template <>
void encode(const Receive& message, Body& body) noexcept {
  body.u64(message.peer_message.value);
  body.u64(message.buffer.value);
  put(body, message.region);
  body.u64(message.next.value);
}

template <>
Result<Receive> decode(std::span<const std::byte> bytes) {
  Fields fields("receive", bytes);
  Receive message;
  message.peer_message = take_peer_message(fields);
  message.buffer = fields.id<BufferId>("buffer");
  message.region = take_region(fields, "region");
  message.next = fields.id<PeerId>("next");
  return finish(fields, message);
}

template <>
void encode(const JoinPeer& message, Body& body) noexcept {
  body.u32(kMagic);
  body.u16(message.version);
  body.u8(message.big_endian);
  body.u8(0);
  put(body, message.access_key);
  body.text(message.identity, kMaxTextBytes);
}

template <>
Result<JoinPeer> decode(std::span<const std::byte> bytes) {
  Fields fields("join_peer", bytes);
  JoinPeer message;
  if (!take_version(fields, message.version)) {
    return only_version<JoinPeer>(fields, message.version);
  }
  message.big_endian = fields.flag("big_endian");
  if (fields.u8("reserved") != 0) fields.refuse("reserved", "is not 0");
  message.access_key = take_token(fields, "access key");
  message.identity = fields.text("identity", kMaxTextBytes);
  return finish(fields, message);
}

template <>
void encode(const PeerMessage& message, Body& body) noexcept {
  body.u64(message.peer_message.value);
  put(body, message.region);
}

template <>
Result<PeerMessage> decode(std::span<const std::byte> bytes) {
  Fields fields("peer_message", bytes);
  PeerMessage message;
  message.peer_message = take_peer_message(fields);
  message.region = take_region(fields, "region");
  if (message.region.offset_bytes != 0) fields.refuse("region", "has an offset (it is a shape)");
  if (message.region.ld != std::max<std::uint64_t>(1, message.region.rows)) {
    fields.refuse("region", "has gaps between its columns (it is a shape)");
  }
  return finish(fields, message);
}

}  // namespace ob::wire
