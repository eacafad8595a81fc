#pragma once
// The same conversation with another process over whatever carries bytes, so that a transport and
// its ceiling are measured by one piece of code.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace ob::bench {

/// Blocking transfers of exactly size_bytes. Return false once the other side is gone.
class Channel {
 public:
  virtual ~Channel() = default;
  virtual bool send(const std::byte* from, std::size_t size_bytes) = 0;
  virtual bool receive(std::byte* to, std::size_t size_bytes) = 0;
};

enum class Direction { to_peer, from_peer };

/// This side of a conversation; the other is a forked process that does as it is told.
/// Memory: both sides send from and receive into one pre-touched buffer of largest_bytes each.
class Conversation {
 public:
  using Connect = std::function<std::unique_ptr<Channel>()>;

  /// Forks the other side, which runs `there`; then runs `here`. Aborts if a channel is null.
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

/// Messages that make a stream of message_bytes long enough to time: 256 MiB, at most 20 000 of
/// them.
std::uint64_t messages_for(std::size_t message_bytes) noexcept;
/// Rounds that make a ping-pong long enough to time.
std::uint64_t rounds_for(std::size_t message_bytes) noexcept;

}  // namespace ob::bench
