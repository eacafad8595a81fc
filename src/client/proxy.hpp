#pragma once
// The one thread of the device API in a process. It looks after connections for which no thread
// waits, and runs the callbacks of the program.

#include <poll.h>

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "base/status.hpp"

namespace ob::client {

/// A device that the proxy looks after.
class ProxyClient {
 public:
  using Clock = std::chrono::steady_clock;

  virtual ~ProxyClient() = default;
  /// Does what is due without waiting, and returns the time of the next look.
  /// @param sources gets the descriptors whose bytes make the proxy look earlier
  /// Threads: the proxy
  virtual Clock::time_point tend(Clock::time_point now, std::vector<pollfd>& sources) = 0;
};

/// The thread starts with the first holder in the process, and ends with the last one. It blocks
/// all signals.
/// Threads: any
class Proxy {
 public:
  /// The time after which commands leave that nobody has sent.
  static constexpr std::chrono::microseconds kTick{50};

  /// Returns the proxy of this process.   Errors: unavailable if the system has no more threads
  static Result<std::shared_ptr<Proxy>> acquire();
  /// Runs the tasks that are left, and ends the thread.
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  void add(ProxyClient& client);
  /// When it returns, the proxy does not use the client any more.
  void remove(ProxyClient& client);
  /// Makes the proxy look after its clients soon. Costs a system call only if the proxy sleeps.
  void wake() noexcept;
  /// Runs `task` on the proxy's thread, after those that were posted before. It may wait only
  /// briefly: all other tasks and connections wait for it.
  void post(std::function<void()> task);

  /// True on the proxy's thread, which must not wait for its own work.
  static bool is_this_thread() noexcept;
  /// Forgets the parent's proxy in a forked child, which has no such thread.
  static void begin_anew_in_child() noexcept;

 private:
  struct Core;
  explicit Proxy(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  const std::shared_ptr<Core> core_;  // the thread holds it, too
};

}  // namespace ob::client
