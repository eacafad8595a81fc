#pragma once
// Connects to servers and measures their links, for calls that do not wait for it.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>

#include "client/connection_cache.hpp"
#include "offload/journal.hpp"
#include "offload/tuning.hpp"
#include "policy/loss_budget.hpp"

namespace ob::offload {

/// The server that was reached, and the facts about it.
struct ReachedServer {
  std::size_t server = 0;
  const ServerFacts* facts = nullptr;  ///< nullptr: none was reached
};

/// A call needs one of these before it can be decided.
enum class Need {
  facts,  ///< the description of its device, which the first connection brings
  link,   ///< also the measured link
};

/// Returns how long after the beginning of the first connection a call may wait for it.
/// @param whole the setting first_wait
/// @param local_s the time that the call takes here [s]
std::chrono::nanoseconds first_wait(std::chrono::nanoseconds whole, double local_s) noexcept;

/// A server may take seconds to answer, or never answer (its host is down, its name cannot be
/// looked up). Mode auto must not wait for that, so a thread connects, and calls run locally until
/// it is done.   Threads: any
class Connector {
 public:
  /// @param first_wait calls that come within this time after the first one wait for the first
  ///   connection, so that short shapes, which keep the side of their first call, may go out; those
  ///   of 5 to 200 ms wait for a part of it
  Connector(client::ConnectionCache& connections, Tuning& tuning, Journal& journal,
            policy::LossBudget& budget, std::chrono::milliseconds first_wait) noexcept
      : connections_(connections),
        tuning_(tuning),
        journal_(journal),
        budget_(budget),
        first_wait_(first_wait),
        again_after_s_(kFirstAgainS) {}
  /// Waits for the thread.
  ~Connector();
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

  /// Connects to the server if there is no connection, and measures its link if that is needed. If
  /// this server does not answer, the result may be another one. Takes as long as it takes.
  ReachedServer reach(std::size_t server, Need need) noexcept;
  /// The same in the background. Returns without facts if this is not done after a wait that a call
  /// of `local_s` seconds can afford; the wait counts as lost time.
  /// Source: docs/decisions/0031-never-slower.md, point 9
  ReachedServer reach_in_background(std::size_t server, Need need, double local_s) noexcept;
  /// Measures the link in the background once more, after 0.5, 2 and 8 s in calls: the first time,
  /// the machine may have been busy.
  void measure_again(std::size_t server, double spent_s) noexcept;
  /// Renews the process's own lease of a pool in the background, if it is old.
  void renew_lease() noexcept;
  /// Waits until nothing runs in the background.
  void wait();
  /// Gives the thread a moment to end, before the process does. No thread starts afterwards.
  void close() noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr double kFirstAgainS = 0.5;

  ReachedServer connect(std::size_t server) noexcept;
  void measure(ReachedServer& reached) noexcept;
  const ServerFacts* known(std::size_t server, Need need) const noexcept;
  bool start(std::size_t server, Need need);
  bool run(std::function<void()> work);

  client::ConnectionCache& connections_;
  Tuning& tuning_;
  Journal& journal_;
  policy::LossBudget& budget_;
  const std::chrono::milliseconds first_wait_;
  std::atomic<unsigned> measurements_{0};  ///< of links, also failed ones
  std::atomic<double> again_after_s_;      ///< time in calls until the next measurement
  std::mutex mutex_;
  std::condition_variable ended_;
  std::thread thread_;
  bool running_ = false;
  bool closed_ = false;
  Clock::time_point first_start_{};  ///< of the thread
};

}  // namespace ob::offload
