#include "session/message_sender.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "session/piece_limits.hpp"
#include "wire/codec.hpp"

namespace ob::session {
namespace {

// copying such a payload costs less than another send
constexpr std::uint64_t kBufferedPayloadBytes = std::uint64_t{64} * 1024;

}  // namespace

MessageSender::MessageSender(transport::Stream& stream, SendWaiter& waiter)
    : stream_(stream), waiter_(waiter), buffer_(new std::byte[kBufferBytes]) {}

// Sends all of `parts`, and changes them meanwhile.
Status MessageSender::push(std::span<iovec> parts) {
  while (!parts.empty()) {
    OB_ASSIGN_OR_RETURN(std::size_t sent, stream_.try_send(parts));
    if (sent == 0) {
      OB_RETURN_IF_ERROR(waiter_.wait_to_send());
      continue;
    }
    while (!parts.empty() && sent >= parts.front().iov_len) {
      sent -= parts.front().iov_len;
      parts = parts.subspan(1);
    }
    if (sent > 0) {
      parts.front().iov_base = static_cast<std::byte*>(parts.front().iov_base) + sent;
      parts.front().iov_len -= sent;
    }
  }
  return {};
}

Status MessageSender::flush() {
  if (used_ == 0) return {};
  iovec part{buffer_.get(), used_};
  used_ = 0;
  return push({&part, 1});
}

Result<bool> MessageSender::try_flush() {
  while (used_ > 0) {
    const iovec part{buffer_.get(), used_};
    OB_ASSIGN_OR_RETURN(const std::size_t sent, stream_.try_send({&part, 1}));
    if (sent == 0) return false;
    used_ -= sent;
    std::memmove(buffer_.get(), buffer_.get() + sent, used_);
  }
  return true;
}

Status MessageSender::append(std::span<const std::byte> bytes) {
  if (used_ + bytes.size() > kBufferBytes) OB_RETURN_IF_ERROR(flush());
  std::memcpy(buffer_.get() + used_, bytes.data(), bytes.size());
  used_ += bytes.size();
  return {};
}

Status MessageSender::send(wire::Header header, std::span<const std::byte> body) {
  std::array<std::byte, wire::kHeaderBytes> bytes;
  header.body_bytes = static_cast<std::uint32_t>(body.size());
  wire::encode_header(header, bytes);
  OB_RETURN_IF_ERROR(append(bytes));
  return body.empty() ? Status() : append(body);
}

// Copies short pieces through the buffer, a buffer at a time.
Status MessageSender::send_gathered(Layout::Cursor& source) {
  while (!source.done()) {
    used_ += gather(source, {buffer_.get() + used_, kBufferBytes - used_});
    if (used_ == kBufferBytes) OB_RETURN_IF_ERROR(flush());
  }
  return {};
}

// Sends long pieces from their places, behind the bytes that are buffered.
Status MessageSender::send_pieces(Layout::Cursor& source) {
  std::array<iovec, kPiecesPerCall> parts;
  while (!source.done()) {
    std::size_t count = 0;
    if (used_ > 0) parts[count++] = {buffer_.get(), used_};
    for (; count < parts.size() && !source.done(); ++count) {
      const auto piece = source.piece();
      parts[count] = {piece.data(), piece.size()};
      source.advance(piece.size());
    }
    used_ = 0;
    OB_RETURN_IF_ERROR(push({parts.data(), count}));
  }
  return {};
}

Status MessageSender::send(wire::Header header, std::span<const std::byte> body,
                           const Layout& payload) {
  header.payload_bytes = payload.total_bytes();
  OB_RETURN_IF_ERROR(send(header, body));
  return append_payload(payload);
}

Status MessageSender::append_payload(const Layout& payload) {
  Layout::Cursor source(payload);
  const bool small = payload.total_bytes() <= kBufferedPayloadBytes;
  if (small || payload.piece_bytes() < kDirectPieceBytes) return send_gathered(source);
  return send_pieces(source);
}

}  // namespace ob::session
