#include "transport/shm/stream.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "transport/detail/poll.hpp"
#include "transport/detail/system_error.hpp"
#include "transport/shm/bell.hpp"
#include "transport/shm/control.hpp"

namespace ob::transport::shm {
namespace {

// With one core for each side, the answer to a small message arrives within 1 us, and to 64 KiB
// within 20 us. A wake-up costs 2 us on a shared core, but 20 to 45 us on an idle core of a virtual
// machine. Once both sides sleep, a limit below two wake-ups would never find that polling pays.
constexpr std::chrono::microseconds kShmSpin{100};
constexpr int kSpinLooks = 16;  // checks per clock reading, which costs as much as ten checks
// A killed peer rings no bell: after this time of sleep the socket is checked, unless somebody
// watches it. A watched stream checks its socket, too, but rarely: a hostile peer can write to our
// bell, so that we miss a ring.
constexpr std::chrono::milliseconds kHangUpSlice{50};
// A caller that polls and never waits also detects a killed peer: it checks once in this many
// polls. On average the check costs a hundredth of a poll.
constexpr unsigned kLooksPerHangUpLook = 256;
constexpr std::chrono::seconds kSegmentTimeout{1};
// A sender sleeps until this much is free; otherwise each small release would wake it. No side can
// starve, because a receiver waits for bytes only when the ring is empty.
constexpr std::size_t kRoomWorthWakingBytes = kRingBytes / 4;

}  // namespace

Result<Mapping> map_memory(int fd) {
  void* base = ::mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED)
    return detail::system_error(Code::out_of_memory, "cannot map shared memory", errno);
  return Mapping(base);
}

ShmStream::ShmStream(Fd socket, Mapping mapping, Side side, const std::string& address,
                     uid_t peer_uid, std::shared_ptr<HangUpWatch> watch)
    : socket_(std::move(socket)),
      identity_(socket_.get()),
      mapping_(std::move(mapping)),
      user_("uid " + std::to_string(peer_uid)),
      peer_(address + " (" + user_ + ")"),
      owner_(::getpid()),
      ours_(mapping_.header().bells[static_cast<unsigned>(side)]),
      theirs_(mapping_.header().bells[static_cast<unsigned>(other(side))]),
      sender_(mapping_.header().rings[static_cast<unsigned>(side)], mapping_.ring(side)),
      receiver_(mapping_.header().rings[static_cast<unsigned>(other(side))],
                mapping_.ring(other(side))),
      spin_(kShmSpin),
      watch_(std::move(watch)) {
  if (watch_ == nullptr) return;
  watched_as_ = watch_->add(socket_.get(), [this] {
    hung_up_.store(true, std::memory_order_release);
    ring_all(ours_);
  });
}

ShmStream::~ShmStream() {
  // In a forked child the connection still belongs to the parent; the child closes only its own
  // descriptor and mapping.
  if (::getpid() == owner_) {
    if (watched_as_ != 0) watch_->remove(intact() ? socket_.get() : -1, watched_as_);
    shut_down();
  }
  if (!intact()) (void)socket_.release();
}

Result<std::size_t> ShmStream::try_send(std::span<const iovec> parts) {
  if (ended()) return lost();
  const std::size_t sent = sender_.send(parts, [&] { ring_receivers(theirs_); });
  if (sent == kCorrupt) return corrupt();
  return sent;
}

Result<std::size_t> ShmStream::try_receive(std::span<const iovec> parts) {
  if (shut_down_.load(std::memory_order_relaxed)) return lost();
  // Read the socket before the ring: if the peer's end is seen, all its bytes are in the ring.
  const bool end = ended();
  const auto worth_waking = [&] {
    return kRingBytes - receiver_.available() >= kRoomWorthWakingBytes;
  };
  const auto released = [&] { ring_senders(theirs_, worth_waking); };
  const std::size_t received = receiver_.receive(parts, released);
  if (received == kCorrupt) return corrupt();
  if (received != 0) return received;
  if (end) return lost();
  if (++empty_looks_ % kLooksPerHangUpLook == 0) look_for_hang_up();
  return std::size_t{0};
}

bool ShmStream::ready(bool want_receive, bool want_send) const noexcept {
  if (want_receive && receiver_.available() != 0)
    return true;  // also if corrupt: receiving reports it
  return want_send && sender_.room() >= kRoomWorthWakingBytes;
}

bool ShmStream::ended() const noexcept {
  return shut_down_.load(std::memory_order_relaxed) || hung_up_.load(std::memory_order_acquire) ||
         theirs_.closed.load(std::memory_order_acquire) != 0;
}

bool ShmStream::has_hung_up() const noexcept {
  const short seen = detail::poll_until(socket_.get(), 0, Deadline::min());
  return (seen & (POLLHUP | POLLERR)) != 0;
}

bool ShmStream::was_closed_by_peer() const noexcept {
  return ended() && !shut_down_.load(std::memory_order_relaxed);
}

void ShmStream::look_for_hang_up() noexcept {
  if (has_hung_up()) hung_up_.store(true, std::memory_order_release);
}

Status ShmStream::wait(bool want_receive, bool want_send, Deadline deadline) {
  const auto done = [&] { return ready(want_receive, want_send) || ended(); };
  if (!done()) spin_.until(done, kSpinLooks);
  for (;;) {
    if (shut_down_.load(std::memory_order_relaxed)) return lost();
    const bool end = ended();
    if (ready(want_receive, want_send && !end)) return {};
    if (end) return lost();
    if (Clock::now() >= deadline)
      return {Code::deadline_exceeded, peer_ + " let the deadline pass"};
    const Deadline slice =
        detail::sooner(deadline, watched_as_ != 0 ? detail::kLivenessSlice : kHangUpSlice);
    sleep_on(ours_, want_receive, want_send, slice, done);
    if (!done()) look_for_hang_up();
  }
}

bool ShmStream::has_unread() const noexcept { return receiver_.available() != 0; }

bool ShmStream::peer_is_gone() const noexcept { return ended() || has_hung_up(); }

Status ShmStream::send_segment(int fd) {
  if (ended()) return lost();
  if (fd < 0) return {Code::invalid_argument, "cannot pass a segment (it has no descriptor)"};
  Record record;
  record.kind = RecordKind::segment;
  return send_record(socket_.get(), record, fd, Clock::now() + kSegmentTimeout).in(peer_);
}

Result<Segment> ShmStream::receive_segment(Deadline deadline) {
  if (shut_down_.load(std::memory_order_relaxed)) return lost();
  Fd fd;
  auto received = receive_record(socket_.get(), fd, deadline);
  if (!received.ok()) return received.status().in(peer_);
  if (received->kind != RecordKind::segment || !fd) {
    shut_down();
    return Status(Code::protocol_error, peer_ + ": a record without a segment came");
  }
  return Segment{fd.release()};
}

void ShmStream::shut_down() noexcept {
  shut_down_.store(true, std::memory_order_relaxed);
  ours_.closed.store(1, std::memory_order_release);
  if (intact()) (void)::shutdown(socket_.get(), SHUT_RDWR);
  ring_all(ours_);
  ring_all(theirs_);
}

Status ShmStream::lost() const {
  const char* why =
      shut_down_.load(std::memory_order_relaxed) ? "shut down" : "the peer closed it or died";
  return {Code::connection_lost, "lost the connection to " + peer_ + " (" + why + ")"};
}

Status ShmStream::corrupt() {
  shut_down();
  return {
      Code::protocol_error,
      peer_ + " damaged the shared memory (a ring index is impossible); the connection is closed"};
}

}  // namespace ob::transport::shm
