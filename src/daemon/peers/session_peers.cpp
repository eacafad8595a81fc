#include "daemon/peers/session_peers.hpp"

#include <string>
#include <utility>

namespace ob::daemon {
namespace {

// Each link has a thread and, to another daemon, a connection.
constexpr std::size_t kMaxPeers = 64;

}  // namespace

Result<std::shared_ptr<Mailbox>> SessionPeers::open_mailbox(Mailboxes& mailboxes) {
  const std::lock_guard lock(mutex_);
  if (mailbox_ == nullptr) {
    OB_ASSIGN_OR_RETURN(mailbox_, mailboxes.open(device_, host_memory_, over_));
  }
  return mailbox_;
}

std::shared_ptr<Mailbox> SessionPeers::mailbox() {
  const std::lock_guard lock(mutex_);
  return mailbox_;
}

void SessionPeers::close_mailbox() {
  std::shared_ptr<Mailbox>
      gone;  // close() waits for messages that are arriving: not under the lock
  {
    const std::lock_guard lock(mutex_);
    gone = std::exchange(mailbox_, nullptr);
  }
  if (gone != nullptr) gone->close();
}

Status SessionPeers::check_new(PeerId id) {
  Links gone;  // destroyed after the lock: waits for threads
  const std::lock_guard lock(mutex_);
  return admit(id, gone);
}

// @pre mutex_ is held
Status SessionPeers::admit(PeerId id, Links& gone) {
  if (!id || links_.count(id) != 0) {
    return {Code::protocol_error, "peer id " + std::to_string(id.value) + " is in use or 0"};
  }
  if (links_.size() < kMaxPeers) return {};
  std::erase_if(links_, [&](auto& entry) {
    if (entry.second->alive()) return false;
    gone.push_back(std::move(entry.second));
    return true;
  });
  if (links_.size() < kMaxPeers) return {};
  return {Code::denied, "session has too many peers (limit " + std::to_string(kMaxPeers) + ")"};
}

Status SessionPeers::add(PeerId id, std::unique_ptr<PeerTransport> transport) {
  OB_ASSIGN_OR_RETURN(Reservation thread, ResourceAccount::reserve(threads_, 1));
  // Both outlive the lock, because a link that ends waits for its thread.
  auto link =
      std::make_shared<PeerLink>(device_, host_memory_, std::move(transport), std::move(thread));
  Links gone;
  const std::lock_guard lock(mutex_);
  // Another connection of the session may have added a link since check_new().
  OB_RETURN_IF_ERROR(admit(id, gone));
  links_[id] = std::move(link);
  return {};
}

std::shared_ptr<PeerLink> SessionPeers::find(PeerId id) {
  const std::lock_guard lock(mutex_);
  const auto at = links_.find(id);
  return at == links_.end() ? nullptr : at->second;
}

void SessionPeers::remove(PeerId id) {
  std::shared_ptr<PeerLink> gone;  // closing waits for its thread, so not under the lock
  {
    const std::lock_guard lock(mutex_);
    const auto at = links_.find(id);
    if (at == links_.end()) return;
    gone = std::move(at->second);
    links_.erase(at);
  }
  gone->close(transport::Clock::now() + PeerLink::kDisconnectTime);
}

void SessionPeers::close() {
  close_mailbox();
  std::unordered_map<PeerId, std::shared_ptr<PeerLink>> gone;
  {
    const std::lock_guard lock(mutex_);
    gone = std::exchange(links_, {});
  }
  const auto until = transport::Clock::now() + PeerLink::kCloseTime;
  for (const auto& [id, link] : gone) link->close(until);
}

}  // namespace ob::daemon
