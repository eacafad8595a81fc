#pragma once
// One run of an exchange after another, and the hand-over between the program and the run's driver.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "base/trace.hpp"
#include "overlap/exchange.hpp"
#include "overlap/mode.hpp"

namespace ob::overlap {

/// Threads: begin() and drive() belong to the driver of the run, which is the program's thread or
/// the proxy; done() and over() are for any; the rest belongs to the program, one thread at a time.
class Run {
 public:
  /// The messages after which the program may go on: all, or those that arrive here, while those
  /// that leave go on.
  enum class Done { when_all_moved, when_arrived };

  /// @param proxy the number of the proxy that drives it, in modes with a thread
  Run(Done done, std::size_t proxy) : done_when_(done), proxy_(proxy) {}

  /// Prepares a run of `exchange`. The driver copies `source`, if there is one, to `packed` before
  /// the first message leaves.
  /// @pre over()
  void prepare(Exchange& exchange, Mode mode, bool hold_sends, const Region* source = nullptr,
               std::byte* packed = nullptr) noexcept;

  /// The outcome of a call of the driver. If the run is over, it belongs to the program again, and
  /// the driver must not touch it.
  struct Progress {
    bool moved = false;
    bool done = false;  ///< the program may go on since this call
    bool over = false;
  };
  /// Starts the messages. Threads: the driver.
  Progress begin() noexcept;
  /// Moves the messages. Threads: the driver.
  Progress drive() noexcept;

  /// Returns true if the program may go on, or if the run has failed.
  bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  /// Returns true if all messages have moved, or if the run has failed.
  bool over() const noexcept { return over_.load(std::memory_order_acquire); }
  /// Returns the failure of the last run.
  /// @pre over()
  const Status& failure() const noexcept { return failure_; }
  /// Notes the rate of a run that is over, and returns its time from prepare() until the last
  /// message moved [s].
  double finish() noexcept;

  std::size_t proxy() const noexcept { return proxy_; }
  Mode mode() const noexcept { return mode_; }
  /// Returns the exchange of the last run, or null before the first.
  Exchange* exchange() const noexcept { return exchange_; }
  /// Returns the highest rate of a run [byte/s], or 0 before the first.
  double rate() const noexcept { return rate_; }

  Run* next_posted = nullptr;  ///< the link of the proxy's inbox
  TracePoint traced_start;     ///< the program's call of start(); empty without a trace

 private:
  Progress progress(Status status, bool moved) noexcept;

  const Done done_when_;
  const std::size_t proxy_;
  Exchange* exchange_ = nullptr;
  const Region* source_ = nullptr;
  std::byte* packed_ = nullptr;
  Mode mode_ = Mode::sync;
  std::atomic<bool> done_{true};
  std::atomic<bool> over_{true};
  Status failure_;
  std::int64_t began_ns_ = 0;
  double rate_ = 0;
};

}  // namespace ob::overlap
