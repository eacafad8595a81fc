#include "transport/shm/connect.hpp"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "transport/detail/poll.hpp"
#include "transport/detail/system_error.hpp"
#include "transport/sealed_memory.hpp"
#include "transport/shm/control.hpp"
#include "transport/shm/socket_file.hpp"
#include "transport/shm/stream.hpp"

namespace ob::transport::shm {
namespace {

// While the listener's queue is full, the system refuses at once and offers no way to wait.
constexpr std::chrono::milliseconds kQueueFullPause{1};
// A daemon opens its libraries before it takes its socket over. This takes seconds on a busy
// machine.
constexpr std::chrono::seconds kLongestStart{30};
constexpr std::chrono::milliseconds kStartPause{50};
// The time that a daemon has for its clients after it has taken its socket over.
constexpr std::chrono::milliseconds kStarted{1000};

Status unreachable(const UnixAddress& address, int error) {
  const std::string problem =
      "cannot connect to " + address.text() + " (" + detail::system_text(error) + ")";
  if (error == EACCES || error == EPERM)
    return {Code::denied,
            problem + "; the socket belongs to another user, so run both sides as one"};
  return {Code::unavailable, problem + "; check that the daemon runs and that the path is right"};
}

Result<Fd> open_socket(const UnixAddress& address, Deadline deadline) {
  Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return unreachable(address, errno);
  fd = out_of_the_way(std::move(fd));
  const SocketName name(address.path);
  const auto* to = reinterpret_cast<const sockaddr*>(name.bytes);
  while (::connect(fd.get(), to, name.size_bytes) != 0) {
    if (errno == EINTR) continue;
    if (errno != EAGAIN || Clock::now() >= deadline) return unreachable(address, errno);
    (void)detail::poll_until({}, detail::sooner(deadline, kQueueFullPause));
  }
  return fd;
}

// Waits for the first record. While the daemon is being started, the deadline does not count: the
// process that holds its socket closes the connection if it fails.
Result<Record> receive_first(const UnixAddress& address, int socket, Fd& fd, Deadline deadline) {
  const std::string mark = starting_mark(address);
  const Deadline latest = Clock::now() + kLongestStart;
  bool starts = ::access(mark.c_str(), F_OK) == 0;
  for (;;) {
    auto received = receive_record(socket, fd, deadline);
    const bool late = !received.ok() && received.status().code() == Code::deadline_exceeded;
    if (!late || !starts || Clock::now() >= latest) return received;
    starts = ::access(mark.c_str(), F_OK) == 0;
    deadline = Clock::now() + (starts ? kStartPause : kStarted);
  }
}

Status refusal(const UnixAddress& address, std::uint64_t code) {
  if (code == static_cast<std::uint64_t>(Code::denied)) {
    return {Code::denied,
            address.text() +
                " refused this user (it serves its own user and root); run both sides as one"};
  }
  return {Code::unavailable,
          address.text() + " refused the connection (it is short of resources); try again later"};
}

Result<Fd> receive_memory(const UnixAddress& address, int socket, Deadline deadline) {
  Fd memory;
  auto received = receive_first(address, socket, memory, deadline);
  if (!received.ok()) {
    const Status status = received.status();
    if (status.code() == Code::deadline_exceeded) {
      return Status(
          Code::unavailable,
          address.text() + " does not answer; check that the daemon is not stopped or overloaded");
    }
    if (status.code() == Code::connection_lost) {
      return Status(Code::unavailable,
                    address.text() + " ended the connection before it answered; see its log");
    }
    return status.in(address.text());
  }
  if (received->kind == RecordKind::refused) return refusal(address, received->value);
  if (received->kind != RecordKind::welcome || received->value != kMemoryBytes || !memory) {
    return Status(Code::protocol_error,
                  address.text() + " does not speak this protocol (no welcome came)");
  }
  OB_RETURN_IF_ERROR(verify_sealed_memory(memory.get(), kMemoryBytes).status().in(address.text()));
  return memory;
}

}  // namespace

Result<std::unique_ptr<Stream>> connect(const UnixAddress& address, Deadline deadline) {
  OB_ASSIGN_OR_RETURN(Fd socket, open_socket(address, deadline));
  OB_ASSIGN_OR_RETURN(const uid_t uid, trusted_peer(socket.get()));
  OB_ASSIGN_OR_RETURN(const Fd memory, receive_memory(address, socket.get(), deadline));
  OB_ASSIGN_OR_RETURN(Mapping mapping, map_memory(memory.get()));
  return std::unique_ptr<Stream>(
      new ShmStream(std::move(socket), std::move(mapping), Side::connector, address.text(), uid));
}

}  // namespace ob::transport::shm
