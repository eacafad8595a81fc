#include "transport/tcp/liveness.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>

namespace ob::transport::tcp {
namespace {

using std::chrono::milliseconds;

// The retransmission in flight may still be answered; two in a row mean that one was not.
constexpr unsigned kUnanswered = 2;

// Some bytes that we have sent are not acknowledged, or wait for a window.
bool has_undelivered(int fd) noexcept {
  int bytes = 0;
  return ::ioctl(fd, TIOCOUTQ, &bytes) == 0 && bytes > 0;
}

}  // namespace

bool PeerSilence::is_too_long(int fd) const noexcept {
  tcp_info info = {};
  socklen_t size_bytes = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size_bytes) != 0) return false;
  // Probes ask an idle peer, or one whose window is closed.
  const unsigned repeats = std::max<unsigned>(info.tcpi_retransmits, info.tcpi_probes);
  if (repeats == 0) {
    repeated_since_.store(0, std::memory_order_relaxed);
    return false;
  }
  const Clock::rep now = Clock::now().time_since_epoch().count();
  Clock::rep since = 0;
  if (repeated_since_.compare_exchange_strong(since, now)) since = now;
  // The first one would count an idle time; the second one alone would join two short silences, if
  // nobody looked in between.
  const auto silent = std::min<Clock::duration>(milliseconds(info.tcpi_last_ack_recv),
                                                Clock::duration(now - since));
  return repeats >= kUnanswered && silent >= (has_undelivered(fd) ? limit_ : kLongestSilence);
}

}  // namespace ob::transport::tcp
