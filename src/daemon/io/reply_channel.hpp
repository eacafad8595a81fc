#pragma once
// The sending side of a connection, shared by its I/O thread and the threads on which queues
// finish.

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "base/layout.hpp"
#include "base/status.hpp"
#include "session/message_sender.hpp"
#include "transport/stream.hpp"
#include "wire/codec.hpp"

namespace ob::daemon {

/// One whole message at a time. From the I/O thread messages gather until flush(), from others they
/// leave at once.
/// Threads: any. A client that takes no bytes holds up only its own connection and queue.
class ReplyChannel final : private session::SendWaiter {
 public:
  explicit ReplyChannel(transport::Stream& stream) : stream_(stream), sender_(stream, *this) {}

  /// Makes the calling thread the one whose messages wait for flush().
  void adopt_io_thread() noexcept { io_thread_ = std::this_thread::get_id(); }

  template <class Message>
  Status reply(wire::Opcode opcode, QueueId queue, std::uint64_t sequence, const Message& message,
               const Layout& payload = {}) {
    wire::Body body;
    wire::encode(message, body);
    return send(opcode, queue, sequence, body.bytes(), payload);
  }
  Status send(wire::Opcode opcode, QueueId queue, std::uint64_t sequence,
              std::span<const std::byte> body, const Layout& payload = {});
  /// One message that `put` sends itself, its payload in parts. Nothing else is sent meanwhile.
  Status send_in_parts(const std::function<Status(session::MessageSender&)>& put);
  /// Threads: the I/O thread. Leaves it to whoever is sending at the moment, if somebody is.
  Status flush();

  /// Replies that are ordered but not sent yet; a connection that owes none may be drained.
  std::atomic<std::int64_t> owed{0};

 private:
  Status wait_to_send() override;

  transport::Stream& stream_;
  std::mutex mutex_;  // held for one message: messages must not mix
  session::MessageSender sender_;
  std::thread::id io_thread_;
};

}  // namespace ob::daemon
