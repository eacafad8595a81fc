#pragma once
// The receives of a session's client, and the arrival of their peer messages.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>

#include "base/ids.hpp"
#include "base/layout.hpp"
#include "base/status.hpp"
#include "daemon/memory/device_buffer.hpp"
#include "daemon/memory/resource_account.hpp"
#include "daemon/peers/forward_buffer.hpp"
#include "device/device.hpp"
#include "wire/message.hpp"

namespace ob::daemon {

class MessageSource;

/// A receive: a peer message that the client wants.
struct PostedReceive {
  std::shared_ptr<DeviceBuffer> buffer;
  Region region;
  /// Starts to forward the message to another peer when it starts to arrive; empty if it is not
  /// forwarded.
  std::function<std::shared_ptr<ForwardBuffer>()> forward;
  /// Runs once, without locks, with the outcome.
  std::function<void(const Status&)> done;
};

/// Matches the messages of peers, of this daemon or another, with the receives of one session.
/// Threads: any
class Mailbox {
 public:
  /// @param over true once its session may not go on (Session::over()); empty: never
  Mailbox(Device& device, const wire::Token& access_key,
          std::shared_ptr<ResourceAccount> host_memory, std::function<bool()> over)
      : device_(device),
        access_key_(access_key),
        host_memory_(std::move(host_memory)),
        over_(std::move(over)) {}

  const wire::Token& access_key() const noexcept { return access_key_; }
  Device& device() const noexcept { return device_; }
  /// The host memory of the session.
  const std::shared_ptr<ResourceAccount>& host_memory() const noexcept { return host_memory_; }

  /// Posts a receive. It matches a message only after activate().
  /// Errors: invalid_argument if the number is taken or 0; denied beyond the limit; unavailable if
  /// the mailbox is closed; connection_lost if a peer that sends here was lost
  Status post(PeerMessageId peer_message, PostedReceive receive);
  /// Lets a posted receive match, or fails it if its queue has failed before.
  void activate(PeerMessageId peer_message, const Status& queue);
  /// True if the client waits for no peer message.
  bool idle() const;
  bool closed() const { return closed_ || (over_ && over_()); }
  /// Waits for the messages that are arriving, and fails all receives.
  void close();

 private:
  friend class MessageSource;
  struct Entry {
    PostedReceive receive;
    bool active = false;
  };
  /// Registers a source with the function that ends all waits of the source.
  /// Memory: `stop` lives until remove()
  void add(const std::function<void()>& stop);
  /// @param lost true if the source ended before it delivered all its messages
  void remove(const std::function<void()>& stop, bool lost);
  /// Waits until a receive matches, and removes it.
  Result<PostedReceive> match(const wire::PeerMessage& peer_message,
                              const std::function<bool()>& cancelled);
  void note_arrived();
  void fail_all(std::unique_lock<std::mutex> lock, const Status& why);

  Device& device_;
  const wire::Token access_key_;
  const std::shared_ptr<ResourceAccount> host_memory_;
  const std::function<bool()> over_;
  std::atomic<bool> closed_{false};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<PeerMessageId, Entry> posted_;
  std::list<const std::function<void()>*> stops_;  // one for each source
  std::size_t arriving_ = 0;
  Status broken_;  // set once a peer that sent here was lost
};

}  // namespace ob::daemon
