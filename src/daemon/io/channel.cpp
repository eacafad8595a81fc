#include "daemon/io/channel.hpp"

#include <array>
#include <utility>

namespace ob::daemon {
namespace {

using transport::Clock;

// A connection that closes with unread bytes is reset. So the daemon continues to read for this
// long, and the other side has time to read the reason of the cut.
constexpr auto kLinger = std::chrono::milliseconds(250);

}  // namespace

Channel::Channel(std::unique_ptr<transport::Stream> stream, std::chrono::seconds longest_idle)
    : stream_(std::move(stream)),
      receiver_(stream_),
      replies_(stream_),
      longest_idle_(longest_idle) {}

Result<session::Message> Channel::next_message() {
  for (;;) {
    OB_ASSIGN_OR_RETURN(const auto message, receiver_.poll());
    if (message) return *message;
    OB_RETURN_IF_ERROR(wait_for_bytes());
  }
}

Status Channel::wait_for_bytes() {
  OB_RETURN_IF_ERROR(replies_.flush());
  const auto now = Clock::now();
  idle_since_ = now;
  idle_ = receiver_.idle() && !unsynchronized_;
  Status status = stream_.wait(true, false, now + longest_idle_);
  const bool unused = waited_idle_ = idle();
  idle_ = false;
  if (status.code() != Code::deadline_exceeded) return status;
  return unused ? Status(Code::deadline_exceeded, "the connection was not used for long")
                : Status();
}

Status Channel::receive_payload(const Layout& destination, std::uint32_t swapped_word_bytes,
                                const std::function<Status()>& wanted) {
  Layout::Cursor cursor(destination);
  for (;;) {
    if (wanted) OB_RETURN_IF_ERROR(wanted());
    OB_ASSIGN_OR_RETURN(const bool complete, receiver_.poll_payload(cursor, swapped_word_bytes));
    if (complete) return {};
    OB_RETURN_IF_ERROR(wait_for_bytes());
  }
}

Status Channel::discard_payload() {
  for (;;) {
    OB_ASSIGN_OR_RETURN(const bool complete, receiver_.discard_payload());
    if (complete) return {};
    OB_RETURN_IF_ERROR(wait_for_bytes());
  }
}

Status Channel::check_peer() const {
  if (!stream_.peer_is_gone()) return {};
  return {Code::connection_lost, stream_.peer() + " has left, or its machine does not answer"};
}

// A thread that has not begun to receive (for example because its memory is swapped out) still
// counts as idle.
void Channel::show_life(std::uint64_t announced_ms) noexcept {
  if (!idle() || stream_.has_unread()) replies_.show_life(announced_ms);
}

void Channel::report_failure(const Status& why) {
  wire::Outcome outcome;
  outcome.code = why.code();
  outcome.message = why.message();
  if (!replies_.reply(wire::Opcode::failed, {}, 0, outcome).ok() || !replies_.flush().ok()) return;
  const auto until = Clock::now() + kLinger;
  std::array<std::byte, 4096> unread;
  const iovec part{unread.data(), unread.size()};
  while (Clock::now() < until) {
    const auto received = stream_.try_receive({&part, 1});
    if (!received.ok()) return;
    if (*received == 0 && !stream_.wait(true, false, until).ok()) return;
  }
}

std::shared_ptr<const void> Channel::hold_busy() {
  ++replies_.owed;
  return {this, [self = shared_from_this()](const void*) { --self->replies_.owed; }};
}

}  // namespace ob::daemon
