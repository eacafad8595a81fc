#include "transport/tcp/stream.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "transport/detail/parts.hpp"
#include "transport/detail/poll.hpp"
#include "transport/detail/system_error.hpp"

namespace ob::transport::tcp {
namespace {

// Limit of the bytes that are discarded at the end, so that a peer that keeps sending cannot delay
// the closing side.
constexpr int kDiscards = 16;
constexpr std::size_t kDiscardBytes = 1 << 20;

msghdr message_of(std::span<const iovec> parts) noexcept {
  msghdr message = {};
  message.msg_iov =
      const_cast<iovec*>(parts.data());  // the system has one structure for both directions
  message.msg_iovlen = std::min<std::size_t>(parts.size(), IOV_MAX);
  return message;
}

/// Discards unread bytes before a close. Otherwise the system answers them with a reset, which
/// destroys our last bytes in flight.
void discard_unread(int fd) noexcept {
  for (int i = 0; i < kDiscards; ++i) {
    if (::recv(fd, nullptr, kDiscardBytes, MSG_TRUNC | MSG_DONTWAIT) <= 0) return;
  }
}

}  // namespace

TcpStream::TcpStream(Fd fd, std::chrono::milliseconds longest_silence, std::string peer)
    : fd_(std::move(fd)),
      identity_(fd_.get()),
      peer_(std::move(peer)),
      owner_(::getpid()),
      silence_(longest_silence) {}

TcpStream::~TcpStream() {
  if (::getpid() != owner_) return;  // a forked child: the parent still uses the socket
  if (!intact()) {
    (void)fd_.release();
    return;
  }
  // close() alone is not enough: if a forked child holds a copy, the peer would never see the end.
  (void)::shutdown(fd_.get(), SHUT_RDWR);
  discard_unread(fd_.get());
}

Result<std::size_t> TcpStream::try_send(std::span<const iovec> parts) {
  const std::span<const iovec> rest = detail::without_leading_empty(parts);
  if (shut_down_.load(std::memory_order_relaxed)) return lost("shut down");
  if (rest.empty()) return std::size_t{0};
  const msghdr message = message_of(rest);
  for (;;) {
    const ssize_t sent = ::sendmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::size_t{0};
    if (errno != EINTR) return failure(errno);
  }
}

Result<std::size_t> TcpStream::try_receive(std::span<const iovec> parts) {
  const std::span<const iovec> rest = detail::without_leading_empty(parts);
  if (shut_down_.load(std::memory_order_relaxed)) return lost("shut down");
  if (rest.empty()) return std::size_t{0};  // the system returns 0 for the end of the stream
  msghdr message = message_of(rest);
  for (;;) {
    const ssize_t received = ::recvmsg(fd_.get(), &message, MSG_DONTWAIT);
    if (received > 0) return static_cast<std::size_t>(received);
    was_closed_by_peer_ = received == 0 || errno == ECONNRESET;
    if (received == 0) return lost("the peer closed the connection");
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::size_t{0};
    if (errno != EINTR) return failure(errno);
  }
}

Status TcpStream::wait(bool want_receive, bool want_send, Deadline deadline) {
  const short events = static_cast<short>((want_receive ? POLLIN : 0) | (want_send ? POLLOUT : 0));
  // A peer that closes with a full buffer sends no reset, and its machine answers probes of the
  // closed window for a minute. A receiver sees the end after the last bytes.
  const short end = want_receive ? 0 : POLLRDHUP;
  const auto ready_now = [&] { return detail::poll_until(fd_.get(), events, Deadline()) != 0; };
  (void)spin_.until(ready_now, 1);
  for (;;) {
    const Deadline slice = detail::sooner(deadline, detail::kLivenessSlice);
    const short ready = detail::poll_until(fd_.get(), static_cast<short>(events | end), slice);
    if (shut_down_.load(std::memory_order_relaxed)) return lost("shut down");
    // Bytes that arrived before the end can still be received; then the receiver sees the end.
    if ((ready & events) != 0) return {};
    if (ready != 0) return lost("the peer closed the connection");
    if (silence_.is_too_long(fd_.get())) return lost("the peer's machine does not answer");
    if (Clock::now() >= deadline)
      return {Code::deadline_exceeded, peer_ + " let the deadline pass"};
  }
}

bool TcpStream::has_unread() const noexcept {
  return (detail::poll_until(fd_.get(), POLLIN, Deadline()) & POLLIN) != 0;
}

bool TcpStream::peer_is_gone() const noexcept {
  const short seen = detail::poll_until(fd_.get(), POLLRDHUP, Deadline());
  return shut_down_.load(std::memory_order_relaxed) || seen != 0 || silence_.is_too_long(fd_.get());
}

Status TcpStream::send_segment(int) {
  return {Code::unsupported, "memory cannot be shared with " + peer_ + " (it is reached over tcp)"};
}

Result<Segment> TcpStream::receive_segment(Deadline) {
  return Status(Code::unsupported,
                "memory cannot be shared with " + peer_ + " (it is reached over tcp)");
}

void TcpStream::shut_down() noexcept {
  shut_down_.store(true, std::memory_order_relaxed);
  if (intact()) (void)::shutdown(fd_.get(), SHUT_RDWR);  // wakes poll on both sides
}

// close() then resets the connection, also when the process ends.
void TcpStream::discard_unsent_at_end() noexcept {
  const linger none{.l_onoff = 1, .l_linger = 0};
  if (intact()) (void)::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

Status TcpStream::failure(int error) const {
  const std::string text = detail::system_text(error);
  if (error == EFAULT || error == EINVAL) {
    return {Code::invalid_argument,
            "cannot transfer with " + peer_ + " (" + text + ") check the memory given"};
  }
  if (error == ENOMEM || error == ENOBUFS) {
    return {Code::out_of_memory, "cannot transfer with " + peer_ + " (" + text + ")"};
  }
  return lost(text.c_str());
}

Status TcpStream::lost(const char* why) const {
  return {Code::connection_lost, "lost the connection to " + peer_ + " (" + why + ")"};
}

}  // namespace ob::transport::tcp
