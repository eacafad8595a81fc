#pragma once
// The mailboxes of a daemon.

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/status.hpp"
#include "daemon/memory/resource_account.hpp"
#include "daemon/peers/mailbox.hpp"
#include "device/device.hpp"
#include "wire/message.hpp"

namespace ob::daemon {

/// Finds mailboxes by their access keys.   Threads: any
class Mailboxes {
 public:
  /// Makes a mailbox under a new access key.
  /// @param host_memory of the session, for messages that pass through the host
  /// @param over see Mailbox
  /// Errors: internal if the system has no random numbers
  Result<std::shared_ptr<Mailbox>> open(Device& device,
                                        std::shared_ptr<ResourceAccount> host_memory,
                                        std::function<bool()> over);
  /// Returns nullptr if no open mailbox has this access key.
  std::shared_ptr<Mailbox> find(const wire::Token& access_key);

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<Mailbox>> mailboxes_;
};

}  // namespace ob::daemon
