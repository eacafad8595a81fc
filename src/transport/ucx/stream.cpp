#include "transport/ucx/stream.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "transport/detail/parts.hpp"
#include "transport/detail/poll.hpp"

namespace ob::transport::ucx {
namespace {

// As for tcp, which these messages travel through where there is no fabric.
constexpr std::chrono::microseconds kSpin{50};
// How often a waiter asks the control stream whether the peer's machine still answers.
constexpr std::chrono::milliseconds kLivenessSlice{500};
// One who polls without ever waiting hears of the peer's end, too.
constexpr unsigned kLooksPerControlLook = 256;
// After the peer's end, what it sent is waited for: a round trip of the network if it was killed
// (nobody knows how much there is), longer if it said how much.
constexpr std::chrono::milliseconds kLastBytes{50};
constexpr std::chrono::seconds kToldBytes{5};
constexpr std::chrono::milliseconds kEndSlice{1};
// How long a closing side goes on handing over what was accepted; the system does this for tcp.
constexpr std::chrono::seconds kPatience{1};
constexpr std::chrono::microseconds kPumpSlice{200};

bool on_this_machine(const std::string& peer) {
  return peer.rfind("127.", 0) == 0 || peer.rfind("[::1]:", 0) == 0;
}

/// Calls copy(piece, offset) for the next pieces of limit_bytes or fewer in all; returns how many.
template <class Copy>
std::size_t copy_pieces(detail::Pieces& pieces, std::size_t limit_bytes, Copy copy) {
  std::size_t bytes = 0;
  std::size_t offset = 0;
  for (const iovec& piece : pieces.next(limit_bytes, bytes)) {
    copy(piece, offset);
    offset += piece.iov_len;
  }
  pieces.advance(bytes);
  return bytes;
}

}  // namespace

Result<std::unique_ptr<UcxStream>> UcxStream::create(std::unique_ptr<Stream> control) {
  OB_ASSIGN_OR_RETURN(auto channel, Channel::create(on_this_machine(control->peer())));
  std::unique_ptr<UcxStream> stream(new UcxStream(std::move(control), std::move(channel)));
  if (!stream->receivers_.bell || !stream->senders_.bell)
    return Status(Code::out_of_memory, "cannot open a UCX stream (no more descriptors)");
  stream->driver_ = Driver::start([raw = stream.get()] { return raw->drive(); });
  if (stream->driver_ == nullptr)
    return Status(Code::out_of_memory, "cannot open a UCX stream (no more threads)");
  {
    const Lock lock(stream->mutex_);
    OB_RETURN_IF_ERROR(stream->greet());
  }
  stream->driver_->wake();
  return stream;
}

UcxStream::UcxStream(std::unique_ptr<Stream> control, std::unique_ptr<Channel> channel)
    : control_(std::move(control)),
      owner_(::getpid()),
      spin_(kSpin),
      channel_(std::move(channel)),
      greeting_(channel_->hello()),
      hello_(channel_->hello().version) {}

UcxStream::~UcxStream() {
  const bool ours = ::getpid() == owner_;
  if (ours && control_->intact()) {
    driver_.reset();
    flush();
    say_farewell();
    settle();
    if (!channel_->may_end()) (void)channel_.release();
    return;
  }
  // A forked child has not got UCX's thread, and its parent goes on; and a program that closed our
  // descriptors closed UCX's.
  (void)channel_.release();
  (void)driver_.release();
  if (!ours) return;
  receivers_.bell.abandon();
  senders_.bell.abandon();
}

Status UcxStream::await_hello(Deadline deadline) {
  for (;;) {
    {
      const Lock lock(mutex_);
      OB_RETURN_IF_ERROR(turn());
      if (channel_->connected()) return {};
      if (ended_) return lost();
    }
    OB_RETURN_IF_ERROR(control_->wait(true, false, deadline));
  }
}

/// Moves everything on; fails if the peer was refused.
Status UcxStream::turn() {
  if (!channel_->connected() && refused_.ok()) OB_RETURN_IF_ERROR(listen_to_control());
  OB_RETURN_IF_ERROR(greet());  // listening may have been what proved the peer
  move_on();
  return refused_;
}

/// What can be done without the control stream, whose readers may be asleep.
void UcxStream::move_on() {
  ++turns_;
  // Not before the peer's hello: without it nothing of UCX's own set-up may begin, see ~Worker().
  if (!channel_->connected()) return;
  channel_->progress();
  if (channel_->failure() != nullptr && !ended_) {
    take_farewell();  // which its sender said before it closed UCX
    end(channel_->failure());
  }
  wake_others();
}

Status UcxStream::greet() {
  if (greeting_.done() || ended_ || !refused_.ok()) return refused_;
  const Status status = greeting_.advance(*control_);
  if (status.code() == Code::connection_lost) {
    end("it left before we said hello");
  } else {
    refused_ = status;
  }
  return refused_;
}

Status UcxStream::listen_to_control() {
  if (!ended_ && !channel_->connected()) refused_ = take_hello();
  if (!refused_.ok() || !channel_->connected() || ended_) return refused_;
  take_farewell();
  return {};
}

Status UcxStream::take_hello() {
  auto hello = hello_.poll(*control_);
  if (hello.ok()) {
    const Status status = hello->has_value() ? channel_->connect(**hello) : Status();
    if (!status.ok()) end(status.message());  // it may be gone already
    if (channel_->connected() && driver_ != nullptr) driver_->wake();
    return {};
  }
  if (hello.status().code() != Code::connection_lost) return hello.status();
  end("it left before it said hello");
  return {};
}

void UcxStream::take_farewell() {
  const iovec rest{reinterpret_cast<std::byte*>(&farewell_) + farewell_bytes_,
                   sizeof farewell_ - farewell_bytes_};
  std::byte more;
  const iovec beyond{&more, 1};
  const bool whole = rest.iov_len == 0;
  const auto received = control_->try_receive(std::span(whole ? &beyond : &rest, 1));
  if (!received.ok()) return end("it closed the connection or died");
  if (!whole) farewell_bytes_ += *received;
}

void UcxStream::end(std::string why) {
  if (ended_) return;
  ended_ = std::move(why);
  const bool told = farewell_bytes_ == sizeof farewell_ && farewell_.magic == kFarewellMagic;
  last_bytes_until_ = Clock::now() + (told ? Clock::duration(kToldBytes) : kLastBytes);
}

/// True if nothing more can come.
bool UcxStream::drained() const noexcept {
  if (!channel_->connected()) return true;
  const bool told = farewell_bytes_ == sizeof farewell_ && farewell_.magic == kFarewellMagic;
  return (told && channel_->arrivals().arrived() >= farewell_.sent_bytes) ||
         Clock::now() >= last_bytes_until_;
}

Result<std::size_t> UcxStream::try_send(std::span<const iovec> parts) {
  detail::Pieces from(parts);
  Lock lock(mutex_);
  if (shut_down_.load(std::memory_order_relaxed)) return lost();
  OB_RETURN_IF_ERROR(turn());
  std::size_t sent = 0;
  while (!from.at_end() && channel_->connected() && !ended_) {
    const std::span<std::byte> space = channel_->departures().reserve();
    if (space.empty()) break;
    lock.unlock();  // a receiver need not wait for the copy
    const std::size_t used =
        copy_pieces(from, space.size(), [&](const iovec& piece, std::size_t offset) {
          std::memcpy(space.data() + offset, piece.iov_base, piece.iov_len);
        });
    lock.lock();
    channel_->send(used);
    sent += used;
    OB_RETURN_IF_ERROR(turn());
  }
  if (ended_) return lost();
  return sent;
}

/// By the driver's thread.
Driver::Next UcxStream::drive() {
  const Lock lock(mutex_);
  const bool attended = turns_ != turns_seen_ || waiters_ != 0;
  if (!attended) move_on();
  turns_seen_ = turns_;
  driver_sleeps_ = waiters_ != 0;  // the last one wakes it
  if (driver_sleeps_ || ended_ || !channel_->connected()) return {};
  if (attended || !channel_->may_end() || !channel_->arm()) return {Driver::Next::When::later, -1};
  return {Driver::Next::When::readable, channel_->descriptor()};
}

Result<std::size_t> UcxStream::try_receive(std::span<const iovec> parts) {
  detail::Pieces to(parts);
  Lock lock(mutex_);
  if (shut_down_.load(std::memory_order_relaxed)) return lost();
  OB_RETURN_IF_ERROR(turn());
  std::size_t received = 0;
  while (!to.at_end() && can_receive()) {
    const std::span<const std::byte> from = channel_->arrivals().readable();
    lock.unlock();
    const std::size_t used =
        copy_pieces(to, from.size(), [&](const iovec& piece, std::size_t offset) {
          std::memcpy(piece.iov_base, from.data() + offset, piece.iov_len);
        });
    lock.lock();
    channel_->consume(used);
    received += used;
    OB_RETURN_IF_ERROR(turn());
  }
  if (received != 0 || to.at_end()) return received;
  if (!ended_ && ++empty_looks_ % kLooksPerControlLook == 0)
    OB_RETURN_IF_ERROR(listen_to_control());
  if (ended_ && drained()) return lost();
  return std::size_t{0};
}

bool UcxStream::can_receive() const noexcept { return !channel_->arrivals().readable().empty(); }

bool UcxStream::can_send() const noexcept {
  return channel_->connected() && !ended_ && channel_->departures().room() >= kPortionBytes;
}

/// True if a waiter may go on, be it to hear of the end.
bool UcxStream::ready(Wants wants) {
  if (!turn().ok()) return true;
  if ((wants.receive && can_receive()) || (wants.send && can_send())) return true;
  return ended_ && (!wants.receive || drained());
}

void UcxStream::wake_others() {
  const bool gone = ended_.has_value() || !refused_.ok();
  if (receivers_.count != 0 && (gone || can_receive())) receivers_.bell.ring();
  if (senders_.count != 0 && (gone || can_send())) senders_.bell.ring();
}

Status UcxStream::wait(bool want_receive, bool want_send, Deadline deadline) {
  const Wants wants{want_receive, want_send};
  const auto look = [&] {
    const Lock lock(mutex_);
    return ready(wants);
  };
  if (!look()) (void)spin_.until(look, 1);
  Lock lock(mutex_);
  ++waiters_;
  Status status = wait_awake(lock, wants, deadline);
  if (--waiters_ == 0 && driver_sleeps_) {
    driver_sleeps_ = false;
    driver_->wake();
  }
  return status;
}

Status UcxStream::wait_awake(Lock& lock, Wants wants, Deadline deadline) {
  for (;;) {
    const bool go_on = ready(wants);
    if (shut_down_.load(std::memory_order_relaxed)) return lost();
    if (!refused_.ok()) return refused_;
    if ((wants.receive && can_receive()) || (wants.send && can_send())) return {};
    if (go_on) return lost();
    if (Clock::now() >= deadline)
      return {Code::deadline_exceeded, peer() + " let the deadline pass"};
    OB_RETURN_IF_ERROR(sleep(lock, wants, deadline));
  }
}

/// Sleeps until something happens, or for a while.
Status UcxStream::sleep(Lock& lock, Wants wants, Deadline deadline) {
  // During its set-up UCX's descriptor is readable all the time.
  const bool setting_up = channel_->connected() && !channel_->may_end();
  if (channel_->connected() && !setting_up && !channel_->arm()) return {};
  const bool ending = ended_.has_value();
  std::array<pollfd, 4> all{};
  std::size_t n = 0;
  if (channel_->connected() && !setting_up) all[n++] = {channel_->descriptor(), POLLIN, 0};
  if (wants.receive) all[n++] = {receivers_.bell.descriptor(), POLLIN, 0};
  if (wants.send) all[n++] = {senders_.bell.descriptor(), POLLIN, 0};
  // Its end stays readable.
  if (!ending) all[n++] = {control_->descriptor(), POLLIN, 0};
  receivers_.count += wants.receive ? 1 : 0;
  senders_.count += wants.send ? 1 : 0;
  lock.unlock();
  const Deadline slice =
      detail::sooner(deadline, ending || setting_up ? kEndSlice : kLivenessSlice);
  const int woken = detail::poll_until(std::span(all).first(n), slice);
  Status alive;
  if (woken == 0 && !ending && !setting_up) alive = control_->wait(true, false, Deadline::min());
  lock.lock();
  receivers_.count -= wants.receive ? 1 : 0;
  senders_.count -= wants.send ? 1 : 0;
  if (wants.receive) receivers_.bell.silence();
  if (wants.send) senders_.bell.silence();
  if (ending) return {};
  if (alive.code() == Code::connection_lost) end("its machine does not answer");
  return all[n - 1].revents != 0 ? listen_to_control() : Status();
}

Status UcxStream::send_segment(int) {
  return {Code::unsupported, "memory cannot be shared with " + peer()};
}

Result<Segment> UcxStream::receive_segment(Deadline) {
  return Status(Code::unsupported, "memory cannot be shared with " + peer());
}

void UcxStream::shut_down() noexcept {
  shut_down_.store(true, std::memory_order_relaxed);
  if (!intact()) return;
  control_->shut_down();
  receivers_.bell.ring();
  senders_.bell.ring();
}

/// Hands over what was accepted, as far as the peer takes it soon.
void UcxStream::flush() noexcept {
  if (shut_down_.load(std::memory_order_relaxed)) return;
  const Lock lock(mutex_);
  const auto busy = [&] {
    if (!turn().ok() || ended_) return false;
    if (detail::poll_until(control_->descriptor(), POLLIN, Deadline::min()) != 0)
      (void)listen_to_control();
    return channel_->departures().busy();
  };
  pump(busy);
}

/// Lets UCX finish the set-up that a stream of short life may be in the middle of.
void UcxStream::settle() noexcept {
  const Lock lock(mutex_);
  const auto unsettled = [&] {
    move_on();
    return !channel_->may_end();
  };
  pump(unsettled);
}

/// Until it is not `wanted` any more, for a moment.
template <class Wanted>
void UcxStream::pump(Wanted wanted) noexcept {
  const Deadline end_of_pump = Clock::now() + kPatience;
  while (wanted() && Clock::now() < end_of_pump) {
    (void)detail::poll_until({}, detail::sooner(end_of_pump, kPumpSlice));
  }
}

void UcxStream::say_farewell() noexcept {
  const Farewell farewell{kFarewellMagic, channel_->departures().sent()};
  const iovec all{const_cast<Farewell*>(&farewell), sizeof farewell};
  if (channel_->connected()) (void)control_->try_send(std::span(&all, 1));
}

Status UcxStream::lost() const {
  if (channel_->corrupt()) {
    return {Code::protocol_error,
            "closed the connection to " + peer() + " (" + channel_->failure() + ")"};
  }
  const bool here = shut_down_.load(std::memory_order_relaxed);
  const std::string why = here ? "shut down" : ended_.value_or("unknown");
  return {Code::connection_lost, "lost the connection to " + peer() + " (" + why + ")"};
}

}  // namespace ob::transport::ucx
