#include "transport/tcp/options.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <string_view>

namespace ob::transport::tcp {
namespace {

void set(int fd, int level, int option, int value) noexcept {
  (void)::setsockopt(fd, level, option, &value, sizeof value);
}

bool set_congestion_control(int fd, std::string_view name) noexcept {
  return ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(),
                      static_cast<socklen_t>(name.size())) == 0;
}

}  // namespace

void set_options(int fd) noexcept {
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  // BBR, the default of some systems, paces a stream between neighbours to 40 % of cubic's rate.
  // reno is always compiled in and as fast. An ordinary user may be allowed only one of them.
  if (!set_congestion_control(fd, "cubic")) (void)set_congestion_control(fd, "reno");
  // Keepalive finds the dead peer of an idle connection in 2 + 3 x 1 s. It is silent while data is
  // outstanding. TCP_USER_TIMEOUT would also close connections to a live peer that does not read
  // for a while, such as a daemon in a long routine, because it counts a closed window. So
  // Stream::wait detects a silent peer itself.
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 2);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace ob::transport::tcp
