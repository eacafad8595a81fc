// The ways between a session's device and others.

#include <string>
#include <utility>
#include <vector>

#include "daemon/peers/mailbox.hpp"
#include "daemon/peers/peer_link.hpp"
#include "daemon/session/session.hpp"

namespace ob::daemon {
namespace {

// Each is a thread, and to another daemon a connection.
constexpr std::size_t kMaxPeers = 64;

}  // namespace

Result<std::shared_ptr<Mailbox>> Session::open_mailbox(Mailboxes& mailboxes) {
  const std::lock_guard lock(peer_mutex_);
  if (mailbox_ == nullptr) {
    OB_ASSIGN_OR_RETURN(mailbox_, mailboxes.open(device_, host_memory_));
  }
  return mailbox_;
}

std::shared_ptr<Mailbox> Session::mailbox() {
  const std::lock_guard lock(peer_mutex_);
  return mailbox_;
}

void Session::close_mailbox() {
  std::shared_ptr<Mailbox> gone;  // waits for what is landing: not under the lock
  {
    const std::lock_guard lock(peer_mutex_);
    gone = std::exchange(mailbox_, nullptr);
  }
  if (gone != nullptr) gone->close();
}

Status Session::check_new_peer(PeerId id) {
  std::vector<std::shared_ptr<PeerLink>> gone;  // their threads are waited for: not under the lock
  const std::lock_guard lock(peer_mutex_);
  if (!id || peers_.count(id) != 0) {
    return {Code::protocol_error, "peer id " + std::to_string(id.value) + " is in use or 0"};
  }
  if (peers_.size() < kMaxPeers) return {};
  std::erase_if(peers_, [&](auto& entry) {
    if (entry.second->alive()) return false;
    gone.push_back(std::move(entry.second));
    return true;
  });
  if (peers_.size() < kMaxPeers) return {};
  return {Code::denied, "session has too many peers (limit " + std::to_string(kMaxPeers) + ")"};
}

Status Session::add_peer(PeerId id, std::unique_ptr<Route> route) {
  OB_RETURN_IF_ERROR(check_new_peer(id));
  auto link = std::make_shared<PeerLink>(device_, host_memory_, std::move(route));
  const std::lock_guard lock(peer_mutex_);
  peers_[id] = std::move(link);
  return {};
}

std::shared_ptr<PeerLink> Session::peer(PeerId id) {
  const std::lock_guard lock(peer_mutex_);
  const auto at = peers_.find(id);
  return at == peers_.end() ? nullptr : at->second;
}

void Session::remove_peer(PeerId id) {
  std::shared_ptr<PeerLink> gone;  // its thread is waited for: not under the lock
  {
    const std::lock_guard lock(peer_mutex_);
    const auto at = peers_.find(id);
    if (at == peers_.end()) return;
    gone = std::move(at->second);
    peers_.erase(at);
  }
  gone->close();
}

void Session::leave_peers() {
  close_mailbox();
  std::unordered_map<PeerId, std::shared_ptr<PeerLink>> gone;
  {
    const std::lock_guard lock(peer_mutex_);
    gone = std::exchange(peers_, {});
  }
  const auto until = transport::Clock::now() + PeerLink::kParting;
  for (const auto& [id, link] : gone) link->close(until);
}

}  // namespace ob::daemon
