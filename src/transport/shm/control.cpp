#include "transport/shm/control.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "base/passed_descriptors.hpp"
#include "transport/detail/poll.hpp"
#include "transport/detail/system_error.hpp"

namespace ob::transport::shm {
namespace {

Status control_failure(const char* what, int error) {
  if (error == ETOOMANYREFS || error == EMFILE || error == ENFILE || error == ENOMEM ||
      error == ENOBUFS) {
    return detail::system_error(Code::out_of_memory, what, error);
  }
  return detail::system_error(Code::connection_lost, what, error);
}

Status check(const Record& record, ssize_t size_bytes, int descriptors, int flags) {
  if (record.magic == __builtin_bswap32(kControlMagic)) {  // the peer runs on an emulated processor
    return {Code::unsupported,
            "the peer has the other byte order (shared memory is not swapped) "
            "connect over TCP (HOST:PORT)"};
  }
  if (size_bytes != static_cast<ssize_t>(sizeof record) || record.magic != kControlMagic ||
      (flags & MSG_TRUNC) != 0) {
    return {Code::protocol_error,
            "the peer does not speak this protocol (a malformed record came)"};
  }
  if (record.version != kControlVersion) {
    return {Code::version_mismatch, "the peer speaks version " + std::to_string(record.version) +
                                        " of the shared-memory transport (this side " +
                                        std::to_string(kControlVersion) +
                                        ") use one release on both sides"};
  }
  if ((flags & MSG_CTRUNC) != 0 && descriptors == 0) {
    return {Code::out_of_memory,
            "the peer's file descriptor could not be taken (too many open files)"};
  }
  if (descriptors > 1 || (flags & MSG_CTRUNC) != 0) {
    return {Code::protocol_error, "the peer passed more than one file descriptor at a time"};
  }
  return {};
}

}  // namespace

Status send_record(int socket, const Record& record, int fd, Deadline deadline) {
  iovec part{const_cast<Record*>(&record), sizeof record};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  PassedDescriptors descriptors;
  if (fd >= 0) descriptors.attach(message, fd);
  for (;;) {
    if (::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return {};
    if (errno == EINTR) continue;
    if (errno == EBADF && fd >= 0) {
      return detail::system_error(Code::invalid_argument, "cannot pass the descriptor", EBADF);
    }
    if (errno != EAGAIN && errno != EWOULDBLOCK)
      return control_failure("cannot reach the peer", errno);
    if (detail::poll_until(socket, POLLOUT, deadline) == 0) {
      return {Code::deadline_exceeded, "the peer takes no more segments"};
    }
  }
}

Result<Record> receive_record(int socket, Fd& fd, Deadline deadline) {
  for (;;) {
    Record record;
    iovec part{&record, sizeof record};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    PassedDescriptors passed;
    passed.offer(message);
    const ssize_t received = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    Fd first;  // even an empty packet, which looks like the end, may carry a descriptor
    const int descriptors = received < 0 ? 0 : PassedDescriptors::take(message, first);
    if (received > 0) {
      OB_RETURN_IF_ERROR(check(record, received, descriptors, message.msg_flags));
      fd = std::move(first);
      return record;
    }
    if (received == 0) return Status(Code::connection_lost, "the peer closed the connection");
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
      return control_failure("lost the peer", errno);
    }
    if (detail::poll_until(socket, POLLIN, deadline) == 0) {
      return Status(Code::deadline_exceeded, "the peer let the deadline pass");
    }
  }
}

Result<uid_t> trusted_peer(int socket) {
  ucred peer = {};
  socklen_t size_bytes = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size_bytes) != 0) {
    return detail::system_error(Code::denied, "the peer's user is unknown", errno);
  }
  if (peer.uid != ::geteuid() && peer.uid != 0) {
    return Status(Code::denied, "the peer runs as uid " + std::to_string(peer.uid) + " (only uid " +
                                    std::to_string(::geteuid()) +
                                    " and root are trusted here) run both sides as one user");
  }
  return peer.uid;
}

}  // namespace ob::transport::shm
