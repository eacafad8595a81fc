#include "transport/detail/accept.hpp"

#include <sys/socket.h>

#include <cerrno>

#include "transport/detail/poll.hpp"
#include "transport/detail/system_error.hpp"

namespace ob::transport::detail {
namespace {

// Pause before the next attempt when the system is out of descriptors or memory: short compared
// with a daemon's start, long compared with the cost of an attempt.
constexpr std::chrono::milliseconds kShortagePause{20};

bool shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

bool wait_out_shortage(Deadline deadline) {
  (void)poll_until({}, sooner(deadline, kShortagePause));
  return Clock::now() < deadline;
}

}  // namespace

Status accept(int listener, const std::atomic<bool>& closed, Deadline deadline, Fd& out) {
  for (;;) {
    const short ready = poll_until(listener, POLLIN, deadline);
    if (closed.load()) return {Code::unavailable, "no longer listening"};
    if (ready == 0) return {Code::deadline_exceeded, "nobody connected in time"};
    Fd fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
      out = std::move(fd);
      return {};
    }
    const int error = errno;
    if (closed.load()) return {Code::unavailable, "no longer listening"};
    if (shortage(error)) {
      if (!wait_out_shortage(deadline)) {
        return system_error(Code::out_of_memory, "cannot accept a connection", error);
      }
    } else if (error == EBADF || error == EINVAL || error == ENOTSOCK || error == EOPNOTSUPP) {
      return system_error(Code::unavailable, "no longer listening", error);
    }  // other errors: the client closed meanwhile, or its network failed
  }
}

}  // namespace ob::transport::detail
