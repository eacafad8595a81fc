#include "transport/tcp/connect.hpp"

#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/fd.hpp"
#include "transport/detail/poll.hpp"
#include "transport/detail/system_error.hpp"
#include "transport/tcp/options.hpp"
#include "transport/tcp/resolve.hpp"
#include "transport/tcp/stream.hpp"

namespace ob::transport::tcp {
namespace {

/// Returns 0 or the errno of the attempt; ETIMEDOUT at the deadline.
int finish_connecting(int fd, Deadline deadline) {
  if (detail::poll_until(fd, POLLOUT, deadline) == 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size_bytes = sizeof error;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size_bytes) != 0 ? errno : error;
}

/// True if the socket is connected to itself: its free local port may happen to be the one called.
bool connected_to_itself(int fd) {
  return text_of(fd, ::getsockname) == text_of(fd, ::getpeername);
}

int connect_one(const addrinfo& address, Deadline deadline, Fd& out) {
  Fd fd(
      ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, address.ai_protocol));
  if (!fd) return errno;
  fd = out_of_the_way(std::move(fd));
  set_options(fd.get());
  if (::connect(fd.get(), address.ai_addr, address.ai_addrlen) != 0) {
    if (errno != EINPROGRESS && errno != EINTR) return errno;
    if (const int error = finish_connecting(fd.get(), deadline); error != 0) return error;
  }
  if (connected_to_itself(fd.get())) return ECONNREFUSED;
  out = std::move(fd);
  return 0;
}

// The path was checked when the address was parsed.
sockaddr_un name_of(const UnixAddress& address) {
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, address.path.data(),
              std::min(address.path.size(), sizeof name.sun_path - 1));
  return name;
}

int connect_local(const UnixAddress& address, Deadline deadline, Fd& out) {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return errno;
  fd = out_of_the_way(std::move(fd));
  const sockaddr_un name = name_of(address);
  const auto* to = reinterpret_cast<const sockaddr*>(&name);
  while (::connect(fd.get(), to, sizeof name) != 0) {
    if (errno == EINTR) continue;
    // While the listener's queue is full, the system refuses at once and offers no way to wait.
    if (errno != EAGAIN || Clock::now() >= deadline) return errno;
    (void)detail::poll_until({}, detail::sooner(deadline, std::chrono::milliseconds(1)));
  }
  out = std::move(fd);
  return 0;
}

int count(const addrinfo* list) {
  int n = 0;
  for (; list != nullptr; list = list->ai_next) ++n;
  return n;
}

}  // namespace

Result<std::unique_ptr<Stream>> connect(const TcpAddress& address, Deadline deadline) {
  OB_ASSIGN_OR_RETURN(const Addresses list, resolve(address, false));
  std::string tried;
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    // One silent address must not use up the time of the following ones.
    const Clock::duration left = std::max(deadline - Clock::now(), Clock::duration::zero());
    Fd fd;
    const int error = connect_one(*at, detail::sooner(deadline, left / count(at)), fd);
    if (error == 0) {
      std::string peer = text_of(fd.get(), ::getpeername);
      return std::unique_ptr<Stream>(
          new TcpStream(std::move(fd), kLongestSilence, std::move(peer)));
    }
    const std::string number = text_of(at->ai_addr, at->ai_addrlen);
    tried += tried.empty() ? "" : ", ";
    if (number != address.text()) tried += number + ": ";
    tried += detail::system_text(error);
  }
  return Status(Code::unavailable,
                "cannot connect to " + address.text() + " (" + tried +
                    "); check that the daemon runs and that the port is right and open");
}

Result<std::unique_ptr<Stream>> connect(const UnixAddress& address, Deadline deadline) {
  Fd fd;
  const int error = connect_local(address, deadline, fd);
  if (error == 0) {
    return std::unique_ptr<Stream>(new TcpStream(std::move(fd), kLongestSilence, address.text()));
  }
  const bool forbidden = error == EACCES || error == EPERM;
  return Status(forbidden ? Code::denied : Code::unavailable,
                "cannot connect to " + address.text() + " (" + detail::system_text(error) +
                    "); check that its program runs, and that you may use the socket");
}

}  // namespace ob::transport::tcp
