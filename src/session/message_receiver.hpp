#pragma once
// The receiving side of a stream: headers and bodies pass through one small buffer, payloads go
// straight to their places.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/layout.hpp"
#include "base/status.hpp"
#include "transport/stream.hpp"
#include "wire/message.hpp"

namespace ob::session {

/// A header and its body; the payload is still on the stream.
struct Message {
  wire::Header header;
  std::span<const std::byte> body;  ///< valid until the next call on the receiver
};

/// Never blocks: the caller waits on the stream when nothing has arrived.   Threads: owner only
class MessageReceiver {
 public:
  explicit MessageReceiver(transport::Stream& stream);

  /// Returns the next message, or nothing if it has not arrived yet.
  /// Errors: protocol_error for a malformed header; connection_lost.   @pre payload_left() == 0
  Result<std::optional<Message>> poll();

  /// Counts the bytes of the current message's payload that were not received yet.
  std::uint64_t payload_left() const noexcept { return payload_left_; }
  /// Receives to the cursor the payload bytes that have arrived. True once one of them is complete.
  /// @param swapped_word_bytes size of the payload's words, which have the other byte order; 1: the
  /// bytes stay as they are. It is the same for all of a payload.
  /// @pre pieces and payload are whole words
  Result<bool> poll_payload(Layout::Cursor& destination, std::uint32_t swapped_word_bytes = 1);
  /// Does the same, but discards the bytes.
  Result<bool> discard_payload();

  /// True between messages if nothing is buffered.
  bool idle() const noexcept { return begin_ == end_ && payload_left_ == 0; }

 private:
  Result<bool> fill(std::size_t wanted_bytes);
  Result<std::size_t> receive_into_buffer();
  Result<std::size_t> receive_pieces(Layout::Cursor& destination);
  Result<bool> poll_swapped_payload(Layout::Cursor& destination, std::uint32_t word_bytes);

  static constexpr std::size_t kBufferBytes = std::size_t{128} * 1024;
  transport::Stream& stream_;
  std::unique_ptr<std::byte[]> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t payload_bytes_ = 0;
  std::uint64_t payload_left_ = 0;
};

}  // namespace ob::session
