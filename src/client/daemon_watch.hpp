#pragma once
// The decision whether a daemon that a client waits for is dead.

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "client/host_silence.hpp"
#include "client/silence_watch.hpp"

namespace ob::client {

/// The times that a client waits for a daemon that does not answer.
struct Timeouts {
  int connect_ms = 1750;    ///< for connecting with the handshake
  int ping_after_ms = 500;  ///< silence after which a waiting client sends a ping
  /// Silence after which a daemon counts as dead that promises signs of life (docs/wire.md,
  /// section 8).
  int silent_after_ms = 1750;
  /// The same, for a daemon that promises none.
  int dead_after_ms = 4500;
  /// The same, for connecting as well, if the host of the daemon was found silent lately.
  int suspected_after_ms = 500;
};

/// Threads: one at a time
class DaemonWatch {
 public:
  using Clock = SilenceWatch::Clock;

  /// @param host shared by the connections to the daemon's host; or nullptr
  DaemonWatch(const Timeouts& timeouts, std::shared_ptr<HostSilence> host)
      : timeouts_(timeouts), host_(std::move(host)) {}

  /// Notes that the daemon has sent something.
  void heard() noexcept;
  /// Notes that the daemon's system has accepted bytes. This shows life only of a daemon that
  /// promises no other signs.
  void bytes_accepted() noexcept;
  /// Notes the value of a pong: the longest time between two messages to a waiting client [ms].
  void announced(std::uint64_t longest_pause_ms) noexcept;

  /// True if the daemon counts as dead. The caller looks for received bytes first.
  bool is_dead(Clock::time_point now) const noexcept;
  /// The time at which a wait that begins now should end.
  Clock::time_point next_look(Clock::time_point now) const noexcept;
  /// Counts a wait without an answer. True if the daemon should be asked for a sign of life.
  bool should_ask(Clock::time_point begin, Clock::time_point planned_end,
                  Clock::time_point end) noexcept;

  /// Reports the daemon's silence to the other connections.   @returns deadline_exceeded
  Status give_up(const std::string& address);
  /// True if the daemon was silent in the current wait, so that another connection to it would wait
  /// again.
  bool is_unresponsive() const noexcept;

  /// The time for connecting to the host.
  static std::chrono::milliseconds connect_time(const Timeouts& timeouts, const HostSilence* host);

 private:
  bool is_suspected(Clock::time_point now) const noexcept;
  Clock::duration limit(Clock::time_point now) const noexcept;
  Clock::duration ask_after(Clock::time_point now) const noexcept;

  Timeouts timeouts_;
  std::shared_ptr<HostSilence> host_;
  SilenceWatch silence_;
  std::uint32_t seen_reports_ = 0;              // those of the host, when the daemon was last heard
  std::chrono::milliseconds longest_pause_{0};  // announced; 0: nothing is
  bool asked_ = false;                          // in this silence
  Clock::duration asked_at_{0};                 // the silence of the last question
};

}  // namespace ob::client
