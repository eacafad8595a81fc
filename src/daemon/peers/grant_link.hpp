#pragma once
// The puts and gets of a session to and from the grants of one daemon.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/status.hpp"
#include "daemon/memory/device_buffer.hpp"
#include "daemon/memory/region_landing.hpp"
#include "daemon/memory/resource_account.hpp"
#include "daemon/peers/grants.hpp"
#include "daemon/peers/peer_transport.hpp"
#include "device/gate.hpp"
#include "transport/stream.hpp"

namespace ob::daemon {

class GrantStream;

/// A put or get that waits for its turn.
struct PendingGrantCopy {
  bool put = true;
  wire::GrantRange range;
  std::shared_ptr<DeviceBuffer> buffer;  ///< of this session
  Region region;                         ///< in the buffer, of range.size_bytes
  std::shared_ptr<Gate> done;            ///< opens with the outcome
  std::shared_ptr<const void> busy;      ///< released after that
};

/// Runs them one after another, on a thread of its own. The stream to the other daemon is opened
/// for the first one, and again after a loss.
/// Threads: any
class GrantLink {
 public:
  /// Opens a stream whose other side has the grant of this secret.
  using OpenStream =
      std::function<Result<std::unique_ptr<transport::Stream>>(const wire::Token& secret)>;

  /// @param grants those of this daemon, which need no stream   @param user of the session
  GrantLink(Device& device, std::shared_ptr<ResourceAccount> host_memory, Grants& grants,
            std::string user, OpenStream open_stream, Reservation thread);
  /// Fails those that are not done.
  ~GrantLink();
  GrantLink(const GrantLink&) = delete;
  GrantLink& operator=(const GrantLink&) = delete;

  void submit(PendingGrantCopy copy);

 private:
  void run();
  Status carry_out(const PendingGrantCopy& copy);
  Status copy_here(const PendingGrantCopy& copy, const std::shared_ptr<Grant>& grant);
  Status copy_remote(const PendingGrantCopy& copy);
  Status check_open() const;

  SendResources resources_;
  Grants& grants_;
  const std::string user_;
  const OpenStream open_stream_;
  const Reservation counted_thread_;
  RegionLanding landing_;
  std::atomic<bool> closing_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<PendingGrantCopy> pending_;
  std::shared_ptr<GrantStream> stream_;  // guarded by mutex_; used by the thread
  std::thread thread_;
};

}  // namespace ob::daemon
