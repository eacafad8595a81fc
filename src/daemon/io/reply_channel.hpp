#pragma once
// The sending side of a connection, which its I/O thread shares with the threads that run the
// answers of queues.

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

/// Sends one whole message at a time. Messages of the I/O thread gather until flush(); those of
/// other threads are sent at once. A client that takes no bytes delays only its own connection and
/// queue.
/// Threads: any
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
  /// Sends one message whose payload `put` sends in parts. Nothing else is sent meanwhile.
  Status send_in_parts(const std::function<Status(session::MessageSender&)>& put);
  /// Sends the messages that have gathered. If another thread is sending, that thread does it.
  /// Threads: the I/O thread
  Status flush();

  /// Sends an unasked pong if nothing was sent since the last call, and if this needs no wait.
  /// Another thread that is sending shows life by itself. If bytes are left, the other side does
  /// not receive, so it is not waiting.
  /// @param announced_ms see LifeSigns::kAnnouncedMs
  void show_life(std::uint64_t announced_ms) noexcept;

  /// Counts the replies that are ordered but not sent yet. A connection that owes none may be
  /// closed when the daemon stops.
  std::atomic<std::int64_t> owed{0};

 private:
  Status wait_to_send() override;

  transport::Stream& stream_;
  std::mutex mutex_;  // held for one message: messages must not mix
  session::MessageSender sender_;
  std::thread::id io_thread_;
  std::atomic<bool> active_{false};  // a message was sent since the last show_life()
};

}  // namespace ob::daemon
