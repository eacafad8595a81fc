#pragma once
// Takes messages off a stream: headers and bodies through one small buffer, payloads straight to
// their places.

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

/// Threads: owner only. Never blocks; the caller waits on the stream when there is nothing to do.
class MessageReceiver {
 public:
  explicit MessageReceiver(transport::Stream& stream);

  /// The next message, or nothing if it has not arrived yet.
  /// Errors: protocol_error for a malformed header; connection_lost.   @pre payload_left() == 0
  Result<std::optional<Message>> poll();

  /// Bytes of the current message's payload that were not received yet.
  std::uint64_t payload_left() const noexcept { return payload_left_; }
  /// Receives what there is of the payload to the cursor; true once it or the cursor is complete.
  /// @param swapped_word_bytes the payload is words of so many bytes in the other byte order; 1: it
  /// lands as it is. The same for all of a payload.
  /// @pre pieces and payload are whole words
  Result<bool> poll_payload(Layout::Cursor& destination, std::uint32_t swapped_word_bytes = 1);
  /// The same, throwing the bytes away.
  Result<bool> discard_payload();

  /// True between messages with nothing buffered: the peer owes us nothing.
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
