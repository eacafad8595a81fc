#pragma once
// The thread that tells waiting clients that the daemon is alive.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace ob::daemon {

class Channel;

/// Sends a sign of life (docs/wire.md, section 8) on each connection whose client may be waiting,
/// if nothing else was sent for an interval. It does so independently of the threads that receive
/// and compute: they may wait for the device, for a core, or for swapped memory. The thread asks
/// for a higher priority and for locked code, and does without where the system refuses. It does
/// not look for clients that have left: each wait does that by itself (Stream::wait,
/// Channel::check_peer).
/// Threads: any
class LifeSigns {
 public:
  /// The thread looks at every connection this often. Something is sent at least every two of these
  /// intervals.
  static constexpr std::chrono::milliseconds kInterval{150};

  /// The longest time between two messages to a waiting client [ms], as pong tells it.
  static constexpr std::uint64_t kAnnouncedMs = 2 * kInterval.count();

  LifeSigns();
  ~LifeSigns();
  LifeSigns(const LifeSigns&) = delete;
  LifeSigns& operator=(const LifeSigns&) = delete;

  /// False if the system had no thread left: then nothing shows life.
  bool runs() const noexcept { return thread_.joinable(); }

  /// Sends signs on a channel until it is destroyed.   @pre the channel and `signs` outlive it
  class Registration {
   public:
    Registration(LifeSigns& signs, Channel& channel);
    ~Registration();
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

   private:
    LifeSigns& signs_;
    Channel& channel_;
  };

 private:
  void run();

  std::mutex mutex_;  // held for one look at all channels, which does not block
  std::condition_variable changed_;
  std::vector<Channel*> channels_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace ob::daemon
