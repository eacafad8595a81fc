#pragma once
// What devices of other sessions, of this daemon or another, deliver to a session.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/ids.hpp"
#include "base/layout.hpp"
#include "base/status.hpp"
#include "daemon/peers/passage.hpp"
#include "daemon/session/session.hpp"
#include "device/device.hpp"
#include "wire/message.hpp"

namespace ob::daemon {

class PeerLink;

/// A peer message that the client has asked for.
struct Awaited {
  std::shared_ptr<DeviceBuffer> buffer;
  Region region;
  std::shared_ptr<PeerLink> next;  ///< hands it on; or nullptr
  /// Let go of when it has been handed on.
  std::shared_ptr<const void> handing_on;
  /// Called once, without locks, with what came of it.
  std::function<void(const Status&)> done;
};

/// Fetches the next bytes of a peer message to where they belong: as many as there is room for.
using Pull = std::function<Status(const Layout& room)>;

/// Threads: any; a deliverer is used by one
class Mailbox {
 public:
  /// Who brings peer messages: one connection of another daemon, or a link within this one. Its
  /// queue of the device and its memory of the host serve one peer message after the other.
  class Deliverer {
   public:
    /// @param stop ends whatever the deliverer waits for when the mailbox closes
    Deliverer(std::shared_ptr<Mailbox> mailbox, std::function<void()> stop);
    /// Unless it left in peace, whoever waits for a peer message hears that who could have brought
    /// it is gone.
    ~Deliverer();
    Deliverer(const Deliverer&) = delete;
    Deliverer& operator=(const Deliverer&) = delete;

    /// Waits until the client takes the peer_message, then lands it.
    /// @param left asked now and then while nobody takes it: true ends that
    /// Errors: those of pull; protocol_error if it is not what was asked for; unavailable if the
    /// mailbox is closed
    Status deliver(const wire::PeerMessage& peer_message, const Pull& pull,
                   const std::function<bool()>& left);
    /// All that was to be brought has been.
    void leave_in_peace() noexcept { left_in_peace_ = true; }

   private:
    friend class Mailbox;
    Status bring(PeerMessageId peer_message, const Awaited& awaited, const Pull& pull);
    Status land(const Awaited& awaited, const Pull& pull);
    Status open_queue();

    const std::shared_ptr<Mailbox> mailbox_;
    const std::function<void()> stop_;
    std::shared_ptr<SessionQueue> queue_;  // if the host cannot see the device's memory
    bool left_in_peace_ = false;
  };

  Mailbox(Device& device, const wire::Token& access_key, std::shared_ptr<MemoryAccount> host_memory)
      : device_(device), access_key_(access_key), host_memory_(std::move(host_memory)) {}

  const wire::Token& access_key() const noexcept { return access_key_; }
  /// Notes what the client asked for; it is taken from activate() on.
  /// Errors: protocol_error if the number is taken; denied beyond the limit
  Status expect(PeerMessageId peer_message, Awaited awaited);
  /// The queue got there, and may have failed before.
  void activate(PeerMessageId peer_message, const Status& queue);
  /// True if the client waits for nothing.
  bool at_rest() const;
  bool closed() const noexcept { return closed_; }
  /// Nothing is taken any more: waits for what is landing, tells whoever waits.
  void close();

 private:
  struct Entry {
    Awaited awaited;
    bool active = false;
  };
  Result<Reservation> reserve_host(std::uint64_t size_bytes) {
    return MemoryAccount::reserve(host_memory_, size_bytes);
  }
  Status claim(const wire::PeerMessage& peer_message, Awaited& awaited,
               const std::function<bool()>& left);
  void fail_all(std::unique_lock<std::mutex> lock, const Status& why);

  Device& device_;
  const wire::Token access_key_;
  const std::shared_ptr<MemoryAccount> host_memory_;
  std::atomic<bool> closed_{false};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<PeerMessageId, Entry> expected_;
  std::list<Deliverer*> deliverers_;
  std::size_t landing_ = 0;
  Status broken_;  // somebody who delivered is gone
};

/// The mailboxes of a daemon, by their access keys.   Threads: any
class Mailboxes {
 public:
  /// Errors: internal if there are no random numbers
  /// @param host_memory of the session, for what passes through the host
  Result<std::shared_ptr<Mailbox>> open(Device& device, std::shared_ptr<MemoryAccount> host_memory);
  /// nullptr if no open mailbox has this access key.
  std::shared_ptr<Mailbox> find(const wire::Token& access_key);

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<Mailbox>> mailboxes_;
};

}  // namespace ob::daemon
