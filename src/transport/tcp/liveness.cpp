#include "transport/tcp/liveness.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace ob::transport::tcp {
namespace {

constexpr unsigned kSilenceMs =
    5000;  // longer than any route change that a running calculation should survive
// The retransmission in flight may still be answered; two in a row mean that one was not.
constexpr unsigned kUnanswered = 2;

}  // namespace

bool peer_is_silent(int fd) noexcept {
  tcp_info info = {};
  socklen_t size_bytes = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size_bytes) != 0) return false;
  const bool unanswered = info.tcpi_retransmits >= kUnanswered || info.tcpi_probes >= kUnanswered;
  return unanswered && info.tcpi_last_ack_recv >= kSilenceMs;
}

}  // namespace ob::transport::tcp
