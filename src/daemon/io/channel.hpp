#pragma once
// The stream of one connection, with the receiver of messages and the sender of replies.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/layout.hpp"
#include "base/status.hpp"
#include "daemon/io/reply_channel.hpp"
#include "session/message_receiver.hpp"
#include "transport/striped_stream.hpp"

namespace ob::daemon {

/// A connection that waits for something other than messages calls Channel::check_peer() this
/// often.
inline constexpr std::chrono::milliseconds kPeerCheckInterval{250};

/// Receives for the I/O thread of a connection, and records whether the other side waits for an
/// answer. Pending answers hold the channel.
/// Threads: the I/O thread; any thread where a comment says so
class Channel : public std::enable_shared_from_this<Channel> {
 public:
  /// @param longest_idle how long the other side may keep the connection without using it
  Channel(std::unique_ptr<transport::Stream> stream, std::chrono::seconds longest_idle);

  transport::StripedStream& stream() noexcept { return stream_; }
  session::MessageReceiver& receiver() noexcept { return receiver_; }
  /// Threads: any
  ReplyChannel& replies() noexcept { return replies_; }

  /// Sends the gathered messages, then waits for the next message.
  /// Errors: protocol_error; connection_lost; deadline_exceeded after longest_idle
  Result<session::Message> next_message();
  /// Receives the payload of the current message to `destination`.
  /// @param wanted is called before each part of it; its failure ends the function
  Status receive_payload(const Layout& destination, std::uint32_t swapped_word_bytes,
                         const std::function<Status()>& wanted = nullptr);
  /// Receives the rest of the payload and discards it.
  Status discard_payload();
  /// Fails if the other side has left: nobody needs the result of a wait then.   Threads: any
  /// Errors: connection_lost
  Status check_peer() const;
  /// Sends an unasked pong if the other side may be waiting and nothing else was sent since the
  /// last call. Does not block.   Threads: any
  /// @param announced_ms see LifeSigns::kAnnouncedMs
  void show_life(std::uint64_t announced_ms) noexcept;
  /// Tells the other side the reason of the cut, and waits a moment until it has read the reason.
  void report_failure(const Status& why);
  /// Ends the stream; the I/O thread then finds it closed.   Threads: any
  void shut_down() noexcept { stream_.shut_down(); }

  /// True if the other side has sent nothing that is unanswered.   Threads: any
  bool idle() const noexcept { return idle_ && replies_.owed == 0; }
  /// True if the other side has closed the connection while nothing was unanswered.
  bool was_closed_idle() const noexcept {
    return waited_idle_ && receiver_.idle() && stream_.was_closed_by_peer();
  }
  /// The time of the last message; meaningful while idle().   Threads: any
  transport::Clock::time_point idle_since() const noexcept { return idle_since_.load(); }
  /// Replaces the result of waits for messages, for a wait of another kind.
  void set_idle(bool idle) noexcept { idle_ = idle; }
  /// Records whether a queue command came since the last synchronize.
  void set_unsynchronized(bool unsynchronized) noexcept { unsynchronized_ = unsynchronized; }
  /// Keeps idle() false until the token is released.   Threads: any
  std::shared_ptr<const void> hold_busy();

 private:
  Status wait_for_bytes();

  transport::StripedStream stream_;
  session::MessageReceiver receiver_;
  ReplyChannel replies_;
  const std::chrono::seconds longest_idle_;
  bool unsynchronized_ = false;
  bool waited_idle_ = false;  // the last wait for a message
  std::atomic<bool> idle_{true};
  std::atomic<transport::Clock::time_point> idle_since_{transport::Clock::now()};
};

}  // namespace ob::daemon
