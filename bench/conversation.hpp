#pragma once
// A conversation with another process over any channel for bytes, so that the same code measures a
// transport and its ceiling.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace ob::bench {

/// Blocking transfers of exactly size_bytes. They return false once the other side is gone.
class Channel {
 public:
  virtual ~Channel() = default;
  virtual bool send(const std::byte* from, std::size_t size_bytes) = 0;
  virtual bool receive(std::byte* to, std::size_t size_bytes) = 0;
};

enum class Direction { to_peer, from_peer };

/// This side of a conversation. The other side is a forked process that follows its commands.
/// Memory: both sides send from and receive into one pre-touched buffer of largest_bytes each.
class Conversation {
 public:
  using Connect = std::function<std::unique_ptr<Channel>()>;

  /// Forks the other side, which runs `there`, and then runs `here`. Aborts if a channel is null.
  Conversation(std::size_t largest_bytes, const Connect& there, const Connect& here);
  ~Conversation();
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  /// Sends `messages` of message_bytes one way and waits until the last has arrived; returns GB/s.
  double stream(std::size_t message_bytes, Direction direction, std::uint64_t messages);
  /// Sends a message there and back `rounds` times; returns us per round.
  double ping_pong(std::size_t message_bytes, std::uint64_t rounds);

 private:
  std::vector<std::byte> buffer_;
  std::unique_ptr<Channel> channel_;
  pid_t child_ = -1;
};

/// The number of messages of message_bytes that make a stream long enough to measure: 256 MiB, at
/// most 20 000 messages.
std::uint64_t messages_for(std::size_t message_bytes) noexcept;
/// The number of rounds that make a ping-pong long enough to measure.
std::uint64_t rounds_for(std::size_t message_bytes) noexcept;

}  // namespace ob::bench
