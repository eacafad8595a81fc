#pragma once
// The sessions of this and other daemons that a session can send to.

#include <memory>
#include <string>

#include "base/status.hpp"
#include "daemon/peers/grants.hpp"
#include "daemon/peers/mailboxes.hpp"
#include "daemon/peers/peer_transport.hpp"
#include "transport/security.hpp"
#include "transport/stream.hpp"
#include "wire/message.hpp"

namespace ob::daemon {

/// Threads: any
class PeerDirectory {
 public:
  /// @param may_connect whether this daemon connects to others
  /// @param security of the connections to them; nullptr: only on this machine, without a key
  PeerDirectory(bool may_connect, std::shared_ptr<const transport::Security> security)
      : may_connect_(may_connect), security_(std::move(security)) {}

  Mailboxes& mailboxes() noexcept { return mailboxes_; }
  Grants& grants() noexcept { return grants_; }
  bool may_connect() const noexcept { return may_connect_; }

  /// Connects to the mailbox with this access key. The mailbox is in this daemon or, if it has none
  /// with this key, in the daemon at `address`.
  /// @param own the mailbox of the calling session, which cannot be its own peer; or nullptr
  /// Errors: invalid_argument; denied or unsupported if this daemon may not connect there;
  /// unavailable
  Result<std::unique_ptr<PeerTransport>> connect(const wire::Token& access_key,
                                                 const std::string& address, const Mailbox* own);
  /// Opens a stream to the daemon at `address`, which has a mailbox or grant with this secret.
  /// @param user the proven one for whom this daemon asks; or empty
  /// Errors: as connect()
  Result<std::unique_ptr<transport::Stream>> open(const wire::Token& secret,
                                                  const std::string& address,
                                                  const std::string& user);

 private:
  Result<std::unique_ptr<transport::Stream>> join(const wire::Token& access_key,
                                                  const std::string& address,
                                                  const std::string& user);
  Result<std::unique_ptr<transport::Stream>> open_stream(const std::string& address,
                                                         transport::Deadline deadline);

  const bool may_connect_;
  const std::shared_ptr<const transport::Security> security_;
  Mailboxes mailboxes_;
  Grants grants_;
};

}  // namespace ob::daemon
