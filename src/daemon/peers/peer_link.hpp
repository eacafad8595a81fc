#pragma once
// The link from a session's device to one other session.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "base/layout.hpp"
#include "daemon/peers/forward_buffer.hpp"
#include "daemon/peers/peer_transport.hpp"
#include "device/device.hpp"
#include "transport/stream.hpp"

namespace ob::daemon {

/// Sends one peer message after another, on a thread of its own.
/// Threads: any
class PeerLink {
 public:
  /// The time that close() waits for messages. The client may learn that all have arrived before
  /// the link does.
  static constexpr std::chrono::milliseconds kCloseTime{100};
  /// The same for a link that a client disconnects and then goes on. On a busy machine the link's
  /// thread may get no core for some tenths of a second. Shorter than the time after which a client
  /// takes a daemon that sends nothing for lost.
  static constexpr std::chrono::seconds kDisconnectTime{1};

  /// @param thread counts the link's thread
  PeerLink(Device& device, std::shared_ptr<ResourceAccount> host_memory,
           std::unique_ptr<PeerTransport> transport, Reservation thread = {});
  /// Closes the link.
  ~PeerLink();
  PeerLink(const PeerLink&) = delete;
  PeerLink& operator=(const PeerLink&) = delete;

  /// Queues a message and returns at once. A link that has failed sends nothing more: the other end
  /// knows of the failure.
  void send(PendingSend message);
  /// Queues a message that is still arriving. The receiver copies the bytes to the buffer.
  std::shared_ptr<ForwardBuffer> forward(PeerMessageId peer_message, const Region& region,
                                         std::shared_ptr<const void> busy);
  /// Aborts the link, so that the other end knows that a message is missing.
  void fail();
  /// Waits for the queued messages, and aborts those that are not sent by then.
  void close(transport::Deadline until = transport::Clock::now() + kCloseTime);
  bool alive() const noexcept { return !dead_; }

 private:
  void run();
  void send_next(std::unique_lock<std::mutex>& lock);
  void abort();

  SendResources resources_;
  const std::shared_ptr<ForwardBlocks> blocks_;
  const std::unique_ptr<PeerTransport> transport_;
  std::atomic<bool> closing_{false};
  std::atomic<bool> dead_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<PendingSend> pending_;
  bool sending_ = false;
  const Reservation counted_thread_;
  std::thread thread_;
};

}  // namespace ob::daemon
