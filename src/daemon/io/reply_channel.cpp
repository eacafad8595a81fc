#include "daemon/io/reply_channel.hpp"

#include <chrono>
#include <string>

namespace ob::daemon {
namespace {

// A client that is alive but takes no bytes for this long (for example because it is suspended) is
// cut off, because its results occupy the queue.
constexpr std::chrono::minutes kSendTimeout{5};

}  // namespace

Status ReplyChannel::wait_to_send() {
  Status status = stream_.wait(false, true, transport::Clock::now() + kSendTimeout);
  if (status.code() != Code::deadline_exceeded) return status;
  return Status(Code::connection_lost,
                "client took no bytes for " + std::to_string(kSendTimeout.count()) + " minutes");
}

Status ReplyChannel::send(wire::Opcode opcode, QueueId queue, std::uint64_t sequence,
                          std::span<const std::byte> body, const Layout& payload) {
  wire::Header header;
  header.opcode = opcode;
  header.queue = queue;
  header.sequence = sequence;
  const std::lock_guard lock(mutex_);
  active_.store(true, std::memory_order_relaxed);
  Status status =
      payload.total_bytes() == 0 ? sender_.send(header, body) : sender_.send(header, body, payload);
  if (status.ok() && std::this_thread::get_id() != io_thread_) status = sender_.flush();
  // A part of a message may have been sent: the client could not understand the next one.
  if (!status.ok()) stream_.shut_down();
  return status;
}

Status ReplyChannel::send_in_parts(const std::function<Status(session::MessageSender&)>& put) {
  const std::lock_guard lock(mutex_);
  active_.store(true, std::memory_order_relaxed);
  Status status = put(sender_);
  if (status.ok() && std::this_thread::get_id() != io_thread_) status = sender_.flush();
  if (!status.ok()) stream_.shut_down();
  return status;
}

void ReplyChannel::show_life(std::uint64_t announced_ms) noexcept {
  if (active_.exchange(false, std::memory_order_relaxed)) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  wire::Header sign;
  sign.opcode = wire::Opcode::pong;
  sign.queue = QueueId{announced_ms};
  Result<bool> empty = sender_.try_flush();
  if (empty.ok() && *empty) {
    const Status queued = sender_.send(sign, {});
    empty = queued.ok() ? sender_.try_flush() : Result<bool>(queued);
  }
  if (!empty.ok()) stream_.shut_down();
}

Status ReplyChannel::flush() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  // The thread that sends now also flushes. This may take long, and this thread receives meanwhile.
  if (!lock.owns_lock()) return {};
  Status status = sender_.flush();
  if (!status.ok()) stream_.shut_down();
  return status;
}

}  // namespace ob::daemon
