#pragma once
// The messages that a server has got and not handled yet.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "sial/exchange/message.hpp"

namespace ob::sial {

/// Tells whether a message to a server is about one block, about whole arrays or the job (`all`),
/// or about none of these.
enum class Concerns : std::uint8_t { nothing, block, all };

/// Returns what messages of a kind are about.
Concerns concerns_of(MessageKind kind) noexcept;

/// Answers questions about messages that wait for a server.
class MessageReadiness {
 public:
  virtual ~MessageReadiness() = default;
  /// True if there is memory for the block of the message. Else blocks of earlier answers fill the
  /// memory, and the message has to wait until some of them have left.
  virtual bool ready_for(const Message& message) const = 0;
  /// True if the system would have to wait for the disk to read the block of the message.
  virtual bool waits_for_disk(const Message& message) const = 0;
  /// Begins to read the block of a message that will be handled soon, so that messages wait for the
  /// disk together and not one after another.
  virtual void announce(const Message& message) const = 0;
};

/// Puts the messages of a server into an order in which none waits for the disk while others could
/// be handled. Messages about one block keep their order, and those about whole arrays, or about
/// the job, keep theirs among all.
/// Threads: owner only
class MessageQueue {
 public:
  /// @param readiness outlives the queue
  explicit MessageQueue(const MessageReadiness& readiness) : readiness_(readiness) {}

  void push(Message message);
  /// Returns the next message; nothing if there is none, or if all have to wait.
  std::optional<Message> take();
  /// Notes that a message has been handled, and its block is gone.
  void handled(const Message& message) noexcept { bytes_ -= bytes_of(message); }
  /// Returns the most bytes of blocks in messages that were pushed and not handled.
  std::uint64_t peak_bytes() const noexcept { return peak_bytes_; }

 private:
  static std::uint64_t bytes_of(const Message& message) noexcept {
    return message.block == nullptr ? 0 : message.block->bytes();
  }
  bool must_follow_another(std::size_t at) const noexcept;
  Message remove(std::size_t at);

  const MessageReadiness& readiness_;
  std::deque<Message> messages_;
  unsigned looks_ = 0;  // in vain, since a message was taken
  std::uint64_t bytes_ = 0, peak_bytes_ = 0;
};

}  // namespace ob::sial
