#include "api/peer_copies.hpp"

#include <algorithm>
#include <string>

namespace ob::api {
namespace {

// Numbers of copies have this bit.
constexpr std::uint64_t kCopy = std::uint64_t{1} << 63;

Status no_mailbox() {
  return {Code::unsupported,
          "the device has no mailbox (it is in this process, and only daemons take messages); open "
          "it behind a daemon, or use ob_copy_between"};
}

// With another access key, it would not be reached either.
bool cannot_be_reached(const Result<PeerId>& peer) {
  return !peer.ok() && peer.status().code() != Code::invalid_argument;
}

}  // namespace

PeerMessageId PeerCopies::next_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return PeerMessageId{kCopy | ++last};
}

Result<Mailbox> PeerCopies::open() {
  if (device_ == nullptr) return no_mailbox();
  const std::lock_guard lock(mutex_);
  if (programs_) {
    return Status(Code::invalid_argument,
                  "the device's mailbox is open already (it has one); share it, or close it first");
  }
  OB_ASSIGN_OR_RETURN(mailbox_, device_->mailbox());
  programs_ = true;
  return *mailbox_;
}

Status PeerCopies::close() {
  const std::lock_guard lock(mutex_);
  if (!mailbox_) return {};
  mailbox_.reset();
  programs_ = false;
  return device_->close_mailbox();
}

void PeerCopies::end() { (void)close(); }

Result<Mailbox> PeerCopies::for_copies() {
  if (device_ == nullptr) return no_mailbox();
  const std::lock_guard lock(mutex_);
  // The program closes its mailbox itself, because it may want the receives that are left.
  if (mailbox_ && !programs_ && device_->mailbox_is_broken()) {
    mailbox_.reset();
    OB_RETURN_IF_ERROR(device_->close_mailbox());
  }
  if (!mailbox_) {
    OB_ASSIGN_OR_RETURN(mailbox_, device_->mailbox());
  }
  return *mailbox_;
}

Result<PeerId> PeerCopies::link(QueueId queue, const Mailbox& to) {
  if (device_ == nullptr) return no_mailbox();
  const std::lock_guard lock(mutex_);
  for (auto known = links_.begin(); known != links_.end(); ++known) {
    if (cannot_be_reached(known->peer) && known->to.address == to.address) return known->peer;
    if (known->queue != queue || !known->peer.ok()) continue;
    if (known->to.access_key == to.access_key) return known->peer;
    if (known->to.address != to.address) continue;
    (void)device_->disconnect(*known->peer);  // its mailbox was closed, or is another device's
    links_.erase(known);
    break;
  }
  links_.push_back({queue, to, device_->connect(to)});
  return links_.back().peer;
}

void PeerCopies::forget(QueueId queue) {
  const std::lock_guard lock(mutex_);
  std::erase_if(links_, [&](const Link& link) {
    if (link.queue != queue || !link.peer.ok()) return false;
    (void)device_->disconnect(*link.peer);
    return true;
  });
}

}  // namespace ob::api
