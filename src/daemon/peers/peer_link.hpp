#pragma once
// The way from a session's device to one other, and what travels on it.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "base/layout.hpp"
#include "base/status.hpp"
#include "daemon/peers/mailbox.hpp"
#include "daemon/peers/passage.hpp"
#include "daemon/session/session.hpp"
#include "device/device.hpp"
#include "transport/stream.hpp"

namespace ob::daemon {

/// A peer message on its way out.
struct Outgoing {
  PeerMessageId peer_message;
  Region region;
  std::shared_ptr<DeviceBuffer> buffer;  ///< where it lies; or nullptr:
  std::shared_ptr<Passage> passage;      ///< it arrives here
  std::shared_ptr<const void> sending;   ///< let go of when it has been sent, or never will be
};

/// Where a link's peer messages leave the device, for whoever carries them on.
/// Threads: the link's
struct Departure {
  Device& device;
  std::shared_ptr<MemoryAccount> host_memory;
  QueueId transfers{};   ///< of the device, for memory that the host cannot see
  Reservation memory{};  ///< of the host, likewise

  /// Sees to it that there are transfers.   Errors: those of the device and the account
  Status open_transfers();
};

/// What a link leads to: a daemon at the other end of a stream, or a session of this one.
/// Threads: the link's, but for interrupt()
class Route {
 public:
  virtual ~Route() = default;
  /// Returns when the peer message's memory may change.   @param left true ends that
  virtual Status carry(Departure& from, const Outgoing& peer_message,
                       const std::function<bool()>& left) = 0;
  virtual bool alive() = 0;
  /// Nothing more will come, and nothing is missing.
  virtual void farewell() = 0;
  /// Nothing more will come, and something is missing.
  virtual void give_up() = 0;
  /// Ends what carry() waits for beside `left`, and what it would.   Threads: any
  virtual void interrupt() noexcept = 0;
};

/// Over a stream on which the other daemon has answered `joined`.
std::unique_ptr<Route> make_route(std::unique_ptr<transport::Stream> stream);
/// Within this daemon.
std::unique_ptr<Route> make_route(std::shared_ptr<Mailbox> mailbox);

/// Carries one peer message after the other, on a thread of its own.
/// Threads: any
class PeerLink {
 public:
  /// How long one that parts still carries: its client may have heard that all has arrived before
  /// the link has.
  static constexpr std::chrono::milliseconds kParting{100};

  PeerLink(Device& device, std::shared_ptr<MemoryAccount> host_memory,
           std::unique_ptr<Route> route);
  /// What is under way is given up.
  ~PeerLink();
  PeerLink(const PeerLink&) = delete;
  PeerLink& operator=(const PeerLink&) = delete;

  /// Returns at once. A link that has failed carries nothing more: the other end knows.
  void send(Outgoing peer_message);
  /// The same of a peer message that is arriving: to where whoever receives it copies what it gets.
  std::shared_ptr<Passage> hand_on(PeerMessageId peer_message, const Region& region,
                                   std::shared_ptr<const void> sending);
  /// Gives the link up, so that the other end knows.
  void fail();
  /// Waits for what is to be carried, and ends that if it lasts.
  void close(transport::Deadline until = transport::Clock::now() + kParting);
  bool alive() const noexcept { return !dead_; }

 private:
  void run();
  void give_up();

  Departure from_;
  const std::shared_ptr<PassageBlocks> blocks_;
  const std::unique_ptr<Route> route_;
  std::atomic<bool> closing_{false};
  std::atomic<bool> dead_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Outgoing> waiting_;
  bool carrying_ = false;
  std::thread thread_;
};

}  // namespace ob::daemon
