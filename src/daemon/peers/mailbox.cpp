#include "daemon/peers/mailbox.hpp"

#include <chrono>
#include <string>
#include <utility>

#include "daemon/peers/intervals.hpp"

namespace ob::daemon {
namespace {

// No algorithm of Outboard posts more receives at once.
constexpr std::size_t kMostPosted = 4096;

bool same_shape(const Region& a, const Region& b) noexcept {
  return a.rows == b.rows && a.cols == b.cols && a.element_bytes == b.element_bytes &&
         a.triangle == b.triangle && a.word_bytes == b.word_bytes;
}

Status mailbox_closed() { return {Code::unavailable, "the mailbox was closed"}; }

}  // namespace

Status Mailbox::post(PeerMessageId peer_message, PostedReceive receive) {
  const std::lock_guard lock(mutex_);
  if (closed_) return mailbox_closed();
  if (!broken_.ok()) return broken_;
  if (!peer_message || posted_.count(peer_message) != 0) {
    return {Code::invalid_argument, "peer message " + std::to_string(peer_message.value) +
                                        " already has a receive, or its number is 0"};
  }
  if (posted_.size() >= kMostPosted) {
    return {Code::denied, "more than " + std::to_string(kMostPosted) + " receives are posted"};
  }
  posted_.emplace(peer_message, Entry{std::move(receive), false});
  return {};
}

void Mailbox::activate(PeerMessageId peer_message, const Status& queue) {
  std::unique_lock lock(mutex_);
  const auto at = posted_.find(peer_message);
  if (at == posted_.end()) return;  // it has already failed
  if (queue.ok()) {
    at->second.active = true;
    changed_.notify_all();
    return;
  }
  const PostedReceive failed = std::move(at->second.receive);
  posted_.erase(at);
  lock.unlock();
  failed.done(queue);
}

bool Mailbox::idle() const {
  const std::lock_guard lock(mutex_);
  return posted_.empty() && arriving_ == 0;
}

void Mailbox::fail_all(std::unique_lock<std::mutex> lock, const Status& why) {
  const auto failed = std::exchange(posted_, {});
  lock.unlock();
  for (const auto& [peer_message, entry] : failed) entry.receive.done(why);
}

void Mailbox::close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  for (const auto* stop : stops_) (*stop)();
  changed_.notify_all();
  changed_.wait(lock, [&] { return arriving_ == 0; });
  fail_all(std::move(lock), mailbox_closed());
}

void Mailbox::add(const std::function<void()>& stop) {
  const std::lock_guard lock(mutex_);
  stops_.push_back(&stop);
  if (closed_) stop();
}

void Mailbox::remove(const std::function<void()>& stop, bool lost) {
  std::unique_lock lock(mutex_);
  stops_.remove(&stop);
  if (!lost || !broken_.ok()) return;
  broken_ = {Code::connection_lost, "lost the connection to a device that sends here"};
  changed_.notify_all();
  fail_all(std::move(lock), broken_);
}

Result<PostedReceive> Mailbox::match(const wire::PeerMessage& peer_message,
                                     const std::function<bool()>& cancelled) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (closed()) return mailbox_closed();
    const auto at = posted_.find(peer_message.peer_message);
    if (at != posted_.end() && at->second.active) {
      if (!same_shape(at->second.receive.region, peer_message.region)) {
        return Status(Code::protocol_error,
                      "peer message " + std::to_string(peer_message.peer_message.value) +
                          " has another shape than the region that receives it");
      }
      PostedReceive receive = std::move(at->second.receive);
      posted_.erase(at);
      ++arriving_;
      return receive;
    }
    changed_.wait_for(lock, kCancelCheckInterval);
    if (cancelled()) return Status(Code::unavailable, "the sender of the peer message has left");
  }
}

void Mailbox::note_arrived() {
  const std::lock_guard lock(mutex_);
  --arriving_;
  changed_.notify_all();
}

}  // namespace ob::daemon
