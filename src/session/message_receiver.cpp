#include "session/message_receiver.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "session/piece_limits.hpp"
#include "wire/byte_swap.hpp"
#include "wire/codec.hpp"

namespace ob::session {
MessageReceiver::MessageReceiver(transport::Stream& stream)
    : stream_(stream), buffer_(new std::byte[kBufferBytes]) {}

Result<std::size_t> MessageReceiver::receive_into_buffer() {
  if (begin_ == end_) begin_ = end_ = 0;
  if (end_ == kBufferBytes) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  const iovec part{buffer_.get() + end_, kBufferBytes - end_};
  OB_ASSIGN_OR_RETURN(const std::size_t received, stream_.try_receive({&part, 1}));
  end_ += received;
  return received;
}

// Returns true once wanted_bytes are buffered.
Result<bool> MessageReceiver::fill(std::size_t wanted_bytes) {
  while (end_ - begin_ < wanted_bytes) {
    OB_ASSIGN_OR_RETURN(const std::size_t received, receive_into_buffer());
    if (received == 0) return false;
  }
  return true;
}

Result<std::optional<Message>> MessageReceiver::poll() {
  OB_ASSIGN_OR_RETURN(const bool has_header, fill(wire::kHeaderBytes));
  if (!has_header) return std::optional<Message>();
  const std::span<const std::byte, wire::kHeaderBytes> bytes(buffer_.get() + begin_,
                                                             wire::kHeaderBytes);
  OB_ASSIGN_OR_RETURN(const wire::Header header, wire::decode_header(bytes));
  const std::size_t whole = wire::kHeaderBytes + header.body_bytes;
  OB_ASSIGN_OR_RETURN(const bool has_body, fill(whole));
  if (!has_body) return std::optional<Message>();
  // fill() may have moved the buffer
  const std::byte* body = buffer_.get() + begin_ + wire::kHeaderBytes;
  begin_ += whole;
  payload_left_ = payload_bytes_ = header.payload_bytes;
  return std::optional<Message>(Message{header, {body, header.body_bytes}});
}

Result<std::size_t> MessageReceiver::receive_pieces(Layout::Cursor& destination) {
  std::array<iovec, kPiecesPerCall> parts;
  std::size_t count = 0;
  std::uint64_t wanted = 0;
  for (Layout::Cursor ahead = destination;
       count < parts.size() && !ahead.done() && wanted < payload_left_;) {
    const auto piece = ahead.piece();
    const std::size_t n = std::min<std::uint64_t>(piece.size(), payload_left_ - wanted);
    parts[count++] = {piece.data(), n};
    wanted += n;
    ahead.advance(n);
  }
  OB_ASSIGN_OR_RETURN(const std::size_t received, stream_.try_receive({parts.data(), count}));
  for (std::size_t left = received; left > 0;) {
    const std::size_t n = std::min(left, destination.piece().size());
    destination.advance(n);
    left -= n;
  }
  return received;
}

// Received bytes are swapped from the buffer to their place while the caches hold them. A word that
// is not complete waits in the buffer.
Result<bool> MessageReceiver::poll_swapped_payload(Layout::Cursor& destination,
                                                   std::uint32_t word_bytes) {
  while (payload_left_ > 0 && !destination.done()) {
    const std::uint64_t buffered = std::min<std::uint64_t>(end_ - begin_, payload_left_);
    const std::uint64_t whole_words = buffered - buffered % word_bytes;
    if (whole_words == 0) {
      OB_ASSIGN_OR_RETURN(const std::size_t received, receive_into_buffer());
      if (received == 0) return false;
      continue;
    }
    const std::uint64_t n = std::min<std::uint64_t>(whole_words, destination.piece().size());
    if (n == 0 || n % word_bytes != 0) {
      return Status(Code::internal, "payload and its destination are not the same words");
    }
    wire::copy_swapped(destination.piece().data(), buffer_.get() + begin_, n, word_bytes,
                       payload_bytes_);
    destination.advance(n);
    begin_ += n;
    payload_left_ -= n;
  }
  return true;
}

Result<bool> MessageReceiver::poll_payload(Layout::Cursor& destination,
                                           std::uint32_t swapped_word_bytes) {
  if (swapped_word_bytes > 1) return poll_swapped_payload(destination, swapped_word_bytes);
  while (payload_left_ > 0 && !destination.done()) {
    if (begin_ < end_) {
      const std::size_t n = std::min<std::uint64_t>(end_ - begin_, payload_left_);
      const std::uint64_t copied = scatter({buffer_.get() + begin_, n}, destination);
      begin_ += copied;
      payload_left_ -= copied;
      continue;
    }
    const bool direct = destination.piece().size() >= kDirectPieceBytes;
    OB_ASSIGN_OR_RETURN(const std::size_t received,
                        direct ? receive_pieces(destination) : receive_into_buffer());
    if (received == 0) return false;
    if (direct) payload_left_ -= received;
  }
  return true;
}

Result<bool> MessageReceiver::discard_payload() {
  while (payload_left_ > 0) {
    if (begin_ == end_) {
      OB_ASSIGN_OR_RETURN(const std::size_t received, receive_into_buffer());
      if (received == 0) return false;
    }
    const std::size_t n = std::min<std::uint64_t>(end_ - begin_, payload_left_);
    begin_ += n;
    payload_left_ -= n;
  }
  return true;
}

}  // namespace ob::session
