#pragma once
// The latest silence of one host, which all connections of a process to that host share.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace ob::client {

/// A connection that has given a daemon up reports it here. For a while, the other connections to
/// the same host then wait less: one call must not wait for each of them in turn.
/// Threads: any
class HostSilence {
 public:
  using Clock = std::chrono::steady_clock;

  void report(Clock::time_point now) noexcept {
    reported_at_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    reports_.fetch_add(1, std::memory_order_release);
  }
  /// The number of reports so far.
  std::uint32_t reports() const noexcept { return reports_.load(std::memory_order_acquire); }
  /// True if there was a report lately, after the first `seen` ones. A connection passes the number
  /// of the time when it last heard its daemon; a new one passes 0.
  bool is_suspected(std::uint32_t seen, Clock::time_point now) const noexcept {
    const Clock::duration at(reported_at_.load(std::memory_order_relaxed));
    return reports() != seen && now - Clock::time_point(at) < kSuspicion;
  }

  /// The pause before a server that failed is used again.
  static constexpr std::chrono::seconds kSuspicion{5};

 private:
  std::atomic<std::uint32_t> reports_{0};
  std::atomic<Clock::rep> reported_at_{0};
};

/// Returns the part of an address that names the machine; for a Unix socket, all of it: the machine
/// is this one, so only the daemon can be silent.
std::string host_of(const std::string& address);

}  // namespace ob::client
