#pragma once
// The sending side of a stream: small messages gather in one buffer and leave together, large
// payloads leave straight from their places.

#include <cstddef>
#include <memory>
#include <span>

#include "base/layout.hpp"
#include "base/status.hpp"
#include "transport/stream.hpp"
#include "wire/message.hpp"

namespace ob::session {

/// Waits for a sender whose peer takes no bytes.
class SendWaiter {
 public:
  virtual ~SendWaiter() = default;
  /// Returns when sending may go on. A client receives meanwhile, so that the two sides never block
  /// each other.
  virtual Status wait_to_send() = 0;
};

/// Threads: one at a time
class MessageSender {
 public:
  MessageSender(transport::Stream& stream, SendWaiter& waiter);

  /// Queues a message without payload, or with one that append_payload() brings; it leaves with the
  /// next flush() or when the buffer is full.
  Status send(wire::Header header, std::span<const std::byte> body);
  /// Queues a message with `payload` (header.payload_bytes is set from it); returns once the
  /// payload's memory may be reused. Small payloads wait for flush() like messages.
  Status send(wire::Header header, std::span<const std::byte> body, const Layout& payload);
  /// Sends the next part of the payload of a message that send() began. That message's header has
  /// the size of all parts. Returns once the part's memory may be reused.
  Status append_payload(const Layout& part);
  Status flush();
  /// True if messages wait for flush().
  bool has_unsent() const noexcept { return used_ > 0; }
  /// Sends as much of the queued messages as the stream takes now; true if nothing is left.
  Result<bool> try_flush();

 private:
  Status append(std::span<const std::byte> bytes);
  Status push(std::span<iovec> parts);
  Status send_pieces(Layout::Cursor& source);
  Status send_gathered(Layout::Cursor& source);

  static constexpr std::size_t kBufferBytes = std::size_t{256} * 1024;
  transport::Stream& stream_;
  SendWaiter& waiter_;
  std::unique_ptr<std::byte[]> buffer_;
  std::size_t used_ = 0;
};

}  // namespace ob::session
