#include "daemon/peers/peer_link.hpp"

#include <exception>
#include <optional>
#include <utility>

#include "daemon/io/log.hpp"
#include "daemon/peers/intervals.hpp"

namespace ob::daemon {
namespace {

// No client has more messages in flight.
constexpr std::size_t kMostPending = 4096;

}  // namespace

PeerLink::PeerLink(Device& device, std::shared_ptr<ResourceAccount> host_memory,
                   std::unique_ptr<PeerTransport> transport, Reservation thread)
    : resources_{device, host_memory},
      blocks_(std::make_shared<ForwardBlocks>(std::move(host_memory))),
      transport_(std::move(transport)),
      counted_thread_(std::move(thread)),
      thread_([this] { run(); }) {}

PeerLink::~PeerLink() {
  close();
  if (resources_.transfers) (void)resources_.device.destroy_queue(resources_.transfers);
}

std::shared_ptr<ForwardBuffer> PeerLink::forward(PeerMessageId peer_message, const Region& region,
                                                 std::shared_ptr<const void> busy) {
  auto buffer = std::make_shared<ForwardBuffer>(blocks_);
  send({peer_message, region, nullptr, buffer, std::move(busy)});
  return buffer;
}

void PeerLink::send(PendingSend message) {
  const std::lock_guard lock(mutex_);
  if (dead_ || closing_) return;
  if (pending_.size() >= kMostPending) {
    abort();
    return;
  }
  pending_.push_back(std::move(message));
  changed_.notify_all();
}

// The link's thread does the rest: the caller may be a thread that must not wait.
// @pre mutex_ is held
void PeerLink::abort() {
  dead_ = true;
  transport_->interrupt();
  changed_.notify_all();
}

void PeerLink::fail() {
  const std::lock_guard lock(mutex_);
  abort();
}

void PeerLink::close(transport::Deadline until) {
  {
    std::unique_lock lock(mutex_);
    closing_ = true;
    changed_.notify_all();
    const auto done = [&] { return dead_ || (pending_.empty() && !sending_); };
    if (!changed_.wait_until(lock, until, done)) abort();
  }
  if (thread_.joinable()) thread_.join();
}

// @pre lock holds mutex_; it is released while the message is sent
void PeerLink::send_next(std::unique_lock<std::mutex>& lock) {
  std::optional<PendingSend> message(std::move(pending_.front()));
  pending_.pop_front();
  sending_ = true;
  lock.unlock();
  Status status;
  try {
    status = transport_->send(resources_, *message, [this] { return dead_.load(); });
  } catch (const std::exception& error) {  // most likely out of memory
    status = Status(Code::internal, error.what());
  }
  if (message->sent != nullptr) message->sent->open(status);
  message.reset();
  lock.lock();
  sending_ = false;
  changed_.notify_all();
  if (status.ok()) return;
  log::info("a link to another session ended: " + status.message());
  dead_ = true;
}

void PeerLink::run() {
  std::unique_lock lock(mutex_);
  while (!dead_) {
    if (!pending_.empty()) {
      send_next(lock);
    } else if (closing_) {
      break;
    } else if (changed_.wait_for(lock, kLinkCheckInterval) == std::cv_status::timeout &&
               !transport_->alive()) {
      dead_ = true;
    }
  }
  const auto unsent = std::exchange(pending_, {});
  const bool aborted = dead_;
  lock.unlock();
  aborted ? transport_->abort() : transport_->close();
}

}  // namespace ob::daemon
