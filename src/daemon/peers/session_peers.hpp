#pragma once
// The mailbox of a session and its links to other sessions.

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "base/status.hpp"
#include "daemon/memory/resource_account.hpp"
#include "daemon/peers/mailboxes.hpp"
#include "daemon/peers/peer_link.hpp"
#include "device/device.hpp"

namespace ob::daemon {

/// Threads: any
class SessionPeers {
 public:
  /// @param host_memory of the session   @param threads of the session; each link takes one
  /// @param over see Mailbox
  SessionPeers(Device& device, std::shared_ptr<ResourceAccount> host_memory,
               std::shared_ptr<ResourceAccount> threads, std::function<bool()> over = {})
      : device_(device),
        host_memory_(std::move(host_memory)),
        threads_(std::move(threads)),
        over_(std::move(over)) {}
  ~SessionPeers() { close(); }
  SessionPeers(const SessionPeers&) = delete;
  SessionPeers& operator=(const SessionPeers&) = delete;

  /// Returns the session's mailbox, and makes it first if there is none.
  Result<std::shared_ptr<Mailbox>> open_mailbox(Mailboxes& mailboxes);
  /// Returns nullptr if there is none.
  std::shared_ptr<Mailbox> mailbox();
  /// Waits for the messages that are arriving.
  void close_mailbox();

  /// Checks that a link may be made under this id, and forgets links that have failed if there are
  /// too many.
  /// Errors: protocol_error if the id is taken or 0; denied beyond the limit
  Status check_new(PeerId id);
  /// Errors: those of check_new(); out_of_memory if the user has too many threads
  Status add(PeerId id, std::unique_ptr<PeerTransport> transport);
  /// Returns nullptr if unknown.
  std::shared_ptr<PeerLink> find(PeerId id);
  void remove(PeerId id);
  /// Closes the mailbox, and all links together.
  void close();

 private:
  using Links = std::vector<std::shared_ptr<PeerLink>>;
  // Checks that a further peer may have this id, and moves closed links to `gone`.
  // Errors: protocol_error for an id that is in use; denied if there are too many peers
  Status admit(PeerId id, Links& gone);

  Device& device_;
  const std::shared_ptr<ResourceAccount> host_memory_;
  const std::shared_ptr<ResourceAccount> threads_;
  const std::function<bool()> over_;
  std::mutex mutex_;  // guards both below
  std::shared_ptr<Mailbox> mailbox_;
  std::unordered_map<PeerId, std::shared_ptr<PeerLink>> links_;
};

}  // namespace ob::daemon
