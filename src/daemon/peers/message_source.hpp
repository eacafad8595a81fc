#pragma once
// One peer that sends to a mailbox.

#include <functional>
#include <memory>

#include "base/ids.hpp"
#include "base/layout.hpp"
#include "base/status.hpp"
#include "daemon/memory/region_landing.hpp"
#include "daemon/peers/mailbox.hpp"
#include "wire/message.hpp"

namespace ob::daemon {

/// Delivers the messages of a connection of another daemon, or of a link within this one, one after
/// another. They share one queue of the device and one piece of host memory.
/// Threads: owner only
class MessageSource {
 public:
  /// @param stop ends all waits of the source when the mailbox closes; called on any thread
  MessageSource(std::shared_ptr<Mailbox> mailbox, std::function<void()> stop);
  /// Fails the receives of the mailbox, unless close() was called: a message may be missing.
  ~MessageSource();
  MessageSource(const MessageSource&) = delete;
  MessageSource& operator=(const MessageSource&) = delete;

  /// Waits for a receive that matches, then copies the message to its region.
  /// @param cancelled called from time to time while no receive matches; true ends the wait
  /// Errors: those of fetch; protocol_error if the shapes differ; unavailable if the mailbox is
  /// closed or the message cancelled
  Status deliver(const wire::PeerMessage& peer_message, const FetchNext& fetch,
                 const std::function<bool()>& cancelled);
  /// Reports that all messages were delivered.
  void close() noexcept { closed_ = true; }

 private:
  Status receive(const PostedReceive& posted, const FetchNext& fetch);

  const std::shared_ptr<Mailbox> mailbox_;
  const std::function<void()> stop_;
  RegionLanding landing_;
  bool closed_ = false;
};

}  // namespace ob::daemon
