#include "transport/ucx/stream.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "transport/detail/parts.hpp"
#include "transport/detail/poll.hpp"

namespace ob::transport::ucx {
namespace {

// The value is that of tcp, which carries these messages without a fabric.
constexpr std::chrono::microseconds kUcxSpin{50};
// A caller that polls and never waits checks the control stream once in this many polls.
constexpr unsigned kLooksPerControlLook = 256;
// After the peer's end, bytes that it sent may still arrive. Without a close notice their number is
// unknown, and the wait is about a round trip of the network; with one it is longer.
constexpr std::chrono::milliseconds kLastBytes{50};
constexpr std::chrono::seconds kAnnouncedBytes{5};
constexpr std::chrono::milliseconds kEndSlice{1};
// The time that a closing side continues to send accepted bytes. For tcp the system does this.
constexpr std::chrono::seconds kCloseTimeout{1};
constexpr std::chrono::microseconds kPumpSlice{200};

bool on_this_machine(const std::string& peer) {
  return peer.rfind("127.", 0) == 0 || peer.rfind("[::1]:", 0) == 0;
}

/// Calls copy(piece, offset) for the next pieces, at most limit_bytes in all; returns their bytes.
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
      spin_(kUcxSpin),
      channel_(std::move(channel)),
      greeting_(channel_->hello()),
      hello_(channel_->hello().version) {}

UcxStream::~UcxStream() {
  const bool ours = ::getpid() == owner_;
  if (ours && control_->intact()) {
    driver_.reset();
    flush();
    send_close_notice();
    settle();
    if (!channel_->may_end()) (void)channel_.release();
    return;
  }
  // Leak the channel: a forked child has no thread of UCX, and the parent still uses the channel. A
  // program that has closed our descriptors has also closed those of UCX.
  if (ours && driver_ != nullptr) driver_->stop_without_bell();  // its steps use this stream
  (void)channel_.release();
  if (!ours) {
    (void)driver_.release();
    return;
  }
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

/// Makes progress on the control stream and in UCX; fails if the peer was refused.
Status UcxStream::turn() {
  if (!channel_->connected() && refused_.ok()) OB_RETURN_IF_ERROR(listen_to_control());
  OB_RETURN_IF_ERROR(greet());  // the control stream may just have proven the peer
  move_on();
  return refused_;
}

/// Makes progress in UCX only: threads that read the control stream may be asleep.
void UcxStream::move_on() {
  ++turns_;
  // UCX's own set-up must not begin before the peer's hello, see ~Worker().
  if (!channel_->connected()) return;
  channel_->progress();
  if (channel_->failure() != nullptr && !ended_) {
    receive_close_notice();  // the peer sends it before it closes UCX
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
  receive_close_notice();
  return {};
}

Status UcxStream::take_hello() {
  auto hello = hello_.poll(*control_);
  if (hello.ok()) {
    const Status status = hello->has_value() ? channel_->connect(**hello) : Status();
    if (!status.ok()) end(status.message());  // the peer may be gone already
    if (channel_->connected() && driver_ != nullptr) driver_->wake();
    return {};
  }
  if (hello.status().code() != Code::connection_lost) return hello.status();
  end("it left before it said hello");
  return {};
}

void UcxStream::receive_close_notice() {
  const iovec rest{reinterpret_cast<std::byte*>(&close_notice_) + close_notice_bytes_,
                   sizeof close_notice_ - close_notice_bytes_};
  std::byte more;
  const iovec beyond{&more, 1};
  const bool whole = rest.iov_len == 0;
  const auto received = control_->try_receive(std::span(whole ? &beyond : &rest, 1));
  if (!received.ok()) return end("it closed the connection or died");
  if (!whole) close_notice_bytes_ += *received;
}

void UcxStream::end(std::string why) {
  if (ended_) return;
  ended_ = std::move(why);
  const bool told =
      close_notice_bytes_ == sizeof close_notice_ && close_notice_.magic == kCloseNoticeMagic;
  last_bytes_until_ = Clock::now() + (told ? Clock::duration(kAnnouncedBytes) : kLastBytes);
}

/// True if no more bytes can arrive.
bool UcxStream::drained() const noexcept {
  if (!channel_->connected()) return true;
  const bool told =
      close_notice_bytes_ == sizeof close_notice_ && close_notice_.magic == kCloseNoticeMagic;
  return (told && channel_->receive_ring().arrived() >= close_notice_.sent_bytes) ||
         Clock::now() >= last_bytes_until_;
}

Result<std::size_t> UcxStream::try_send(std::span<const iovec> parts) {
  detail::Pieces from(parts);
  Lock lock(mutex_);
  if (shut_down_.load(std::memory_order_relaxed)) return lost();
  OB_RETURN_IF_ERROR(turn());
  std::size_t sent = 0;
  while (!from.at_end() && channel_->connected() && !ended_) {
    const std::span<std::byte> space = channel_->send_ring().reserve();
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

/// Runs on the driver's thread.
Driver::Next UcxStream::drive() {
  const Lock lock(mutex_);
  const bool attended = turns_ != turns_seen_ || waiters_ != 0;
  if (!attended) move_on();
  turns_seen_ = turns_;
  driver_sleeps_ = waiters_ != 0;  // the last waiting thread wakes it
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
    const std::span<const std::byte> from = channel_->receive_ring().readable();
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

bool UcxStream::can_receive() const noexcept {
  return !channel_->receive_ring().readable().empty();
}

bool UcxStream::can_send() const noexcept {
  return channel_->connected() && !ended_ && channel_->send_ring().room() >= kPortionBytes;
}

/// True if a waiting thread may continue, even if only to report the end.
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

/// Sleeps until an event, or for a while.
Status UcxStream::sleep(Lock& lock, Wants wants, Deadline deadline) {
  // During its set-up UCX's descriptor is readable all the time.
  const bool setting_up = channel_->connected() && !channel_->may_end();
  if (channel_->connected() && !setting_up && !channel_->arm()) return {};
  const bool ending = ended_.has_value();
  const bool brief = ending || setting_up;
  PollSet polled = descriptors_for(wants, setting_up);
  count_sleepers(wants, 1);
  lock.unlock();
  const Deadline slice = detail::sooner(deadline, brief ? kEndSlice : detail::kLivenessSlice);
  const int woken = detail::poll_until(std::span(polled.all).first(polled.count), slice);
  Status alive;
  if (woken == 0 && !brief) alive = control_->wait(true, false, Deadline::min());
  lock.lock();
  count_sleepers(wants, -1);
  if (wants.receive) receivers_.bell.silence();
  if (wants.send) senders_.bell.silence();
  if (ending) return {};
  if (alive.code() == Code::connection_lost) end("its machine does not answer");
  return polled.all[polled.count - 1].revents != 0 ? listen_to_control() : Status();
}

/// Returns the descriptors that end a sleep; the control stream is the last one until it has ended.
UcxStream::PollSet UcxStream::descriptors_for(Wants wants, bool setting_up) const noexcept {
  PollSet polled;
  const auto add = [&](int descriptor) { polled.all[polled.count++] = {descriptor, POLLIN, 0}; };
  if (channel_->connected() && !setting_up) add(channel_->descriptor());
  if (wants.receive) add(receivers_.bell.descriptor());
  if (wants.send) add(senders_.bell.descriptor());
  // The end of the control stream stays readable.
  if (!ended_) add(control_->descriptor());
  return polled;
}

void UcxStream::count_sleepers(Wants wants, int change) noexcept {
  if (wants.receive) receivers_.count += change;
  if (wants.send) senders_.count += change;
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

/// Sends accepted bytes, as far as the peer takes them within kCloseTimeout.
void UcxStream::flush() noexcept {
  if (shut_down_.load(std::memory_order_relaxed)) return;
  const Lock lock(mutex_);
  const auto busy = [&] {
    if (!turn().ok() || ended_) return false;
    if (detail::poll_until(control_->descriptor(), POLLIN, Deadline::min()) != 0)
      (void)listen_to_control();
    return channel_->send_ring().busy();
  };
  pump(busy);
}

/// Lets UCX finish its set-up, which a stream of short life may interrupt.
void UcxStream::settle() noexcept {
  const Lock lock(mutex_);
  const auto unsettled = [&] {
    move_on();
    return !channel_->may_end();
  };
  pump(unsettled);
}

/// Calls wanted() until it is false or kCloseTimeout has passed.
template <class Wanted>
void UcxStream::pump(Wanted wanted) noexcept {
  const Deadline end_of_pump = Clock::now() + kCloseTimeout;
  while (wanted() && Clock::now() < end_of_pump) {
    (void)detail::poll_until({}, detail::sooner(end_of_pump, kPumpSlice));
  }
}

void UcxStream::send_close_notice() noexcept {
  const CloseNotice notice{kCloseNoticeMagic, channel_->send_ring().sent()};
  const iovec all{const_cast<CloseNotice*>(&notice), sizeof notice};
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
