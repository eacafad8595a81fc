#include "client/daemon_watch.hpp"

#include <algorithm>
#include <string>

namespace ob::client {
namespace {

using std::chrono::milliseconds;

// A daemon that is late by so many announced pauses is not only busy.
constexpr int kMissedPauses = 4;
// A connection that breaks after this silence of its daemon broke because of it.
constexpr milliseconds kUnresponsive{250};
// A suspected daemon is asked almost at once.
constexpr milliseconds kAskSuspectedAfter{50};

}  // namespace

void DaemonWatch::heard() noexcept {
  silence_.heard();
  asked_ = false;
  if (host_ != nullptr) seen_reports_ = host_->reports();
}

void DaemonWatch::bytes_accepted() noexcept {
  if (longest_pause_.count() != 0) return;
  silence_.heard();
  asked_ = false;
}

void DaemonWatch::announced(std::uint64_t longest_pause_ms) noexcept {
  const auto most = static_cast<std::uint64_t>(std::max(0, timeouts_.dead_after_ms));
  longest_pause_ = milliseconds(std::min(longest_pause_ms, most));
}

bool DaemonWatch::is_suspected(Clock::time_point now) const noexcept {
  return host_ != nullptr && host_->is_suspected(seen_reports_, now);
}

DaemonWatch::Clock::duration DaemonWatch::limit(Clock::time_point now) const noexcept {
  const milliseconds unannounced(timeouts_.dead_after_ms);
  if (is_suspected(now)) return std::min(unannounced, milliseconds(timeouts_.suspected_after_ms));
  if (longest_pause_.count() == 0) return unannounced;
  const milliseconds announced(timeouts_.silent_after_ms);
  return std::min(unannounced, std::max(announced, kMissedPauses * longest_pause_));
}

DaemonWatch::Clock::duration DaemonWatch::ask_after(Clock::time_point now) const noexcept {
  const milliseconds usual(timeouts_.ping_after_ms);
  return is_suspected(now) ? std::min(usual, kAskSuspectedAfter) : usual;
}

bool DaemonWatch::is_dead(Clock::time_point now) const noexcept {
  return asked_ && silence_.is_longer_than(limit(now));
}

DaemonWatch::Clock::time_point DaemonWatch::next_look(Clock::time_point now) const noexcept {
  const Clock::duration left =
      asked_ ? silence_.left(limit(now)) : ask_after(now) - silence_.silence();
  return now + std::clamp<Clock::duration>(left, Clock::duration(0), SilenceWatch::kLongestWait);
}

bool DaemonWatch::should_ask(Clock::time_point begin, Clock::time_point planned_end,
                             Clock::time_point end) noexcept {
  silence_.waited(begin, planned_end, end);
  const Clock::duration since = asked_ ? asked_at_ : Clock::duration(0);
  if (silence_.silence() - since < ask_after(end)) return false;
  asked_ = true;
  asked_at_ = silence_.silence();
  return true;
}

Status DaemonWatch::give_up(const std::string& address) {
  if (host_ != nullptr) host_->report(Clock::now());
  const auto silent = std::chrono::duration_cast<milliseconds>(silence_.silence());
  return {Code::deadline_exceeded, address + " has been silent for " +
                                       std::to_string(silent.count()) +
                                       " ms (stopped, overloaded or cut off)"};
}

bool DaemonWatch::is_unresponsive() const noexcept { return silence_.silence() >= kUnresponsive; }

milliseconds DaemonWatch::connect_time(const Timeouts& timeouts, const HostSilence* host) {
  const bool suspected = host != nullptr && host->is_suspected(0, Clock::now());
  const int ms =
      suspected ? std::min(timeouts.connect_ms, timeouts.suspected_after_ms) : timeouts.connect_ms;
  return milliseconds(ms);
}

}  // namespace ob::client
