#include "transport/striped_stream.hpp"

#include <poll.h>

#include <algorithm>
#include <iterator>

#include "base/contract.hpp"
#include "transport/detail/parts.hpp"
#include "transport/detail/poll.hpp"

namespace ob::transport {
namespace {

// A peer that closes ends all streams, but the last bytes of one may arrive after the end of
// another.
constexpr std::chrono::seconds kLastWords{1};

}  // namespace

/// The descriptors to poll, and their results so far.
class StripedStream::Watch {
 public:
  Watch(std::span<const std::unique_ptr<Stream>> streams, const Stream* in, const Stream* out,
        std::atomic<Clock::rep>& ended_at)
      : ended_at_(ended_at) {
    for (const auto& stream : streams) {
      pollfd& at = all_[count_];
      wanted_[count_] = static_cast<short>((stream.get() == in ? POLLIN : 0) |
                                           (stream.get() == out ? POLLOUT : 0));
      at = {stream->descriptor(), static_cast<short>(wanted_[count_] | POLLRDHUP), 0};
      if (wanted_[count_] != 0) current_[currents_++] = {at.fd, wanted_[count_], 0};
      ++count_;
    }
  }

  /// Polls the wanted streams only.
  bool ready_now() noexcept {
    return detail::poll_until({current_.data(), currents_}, Deadline()) != 0;
  }

  enum class Seen { nothing, ready, ended };
  Seen look(Deadline deadline) noexcept {
    const int ready = detail::poll_until({all_.data(), count_}, deadline);
    if (ready < 0) return Seen::ended;
    for (std::size_t i = 0; i < count_; ++i) {
      if ((all_[i].revents & wanted_[i]) != 0) return Seen::ready;
    }
    for (std::size_t i = 0; ready > 0 && i < count_; ++i) {
      if (all_[i].fd < 0 || all_[i].revents == 0) continue;
      if (wanted_[i] != 0) return Seen::ended;
      all_[i].fd = -1;  // has no more news; the wanted streams may still have last bytes
      Clock::rep never = 0;
      (void)ended_at_.compare_exchange_strong(never, Clock::now().time_since_epoch().count());
    }
    return ending() && Clock::now() >= last_words() ? Seen::ended : Seen::nothing;
  }

  bool ending() const noexcept { return ended_at_ != 0; }
  /// Returns the latest time for the next poll.
  Deadline sooner(Deadline deadline) const noexcept {
    const Deadline slice = detail::sooner(deadline, detail::kLivenessSlice);
    return ending() ? std::min(slice, last_words()) : slice;
  }

 private:
  Deadline last_words() const noexcept { return Deadline(Clock::duration(ended_at_)) + kLastWords; }

  std::array<pollfd, kMaxStreams> all_{};
  std::array<short, kMaxStreams> wanted_{};
  std::array<pollfd, 2> current_{};
  std::size_t count_ = 0;
  std::size_t currents_ = 0;
  std::atomic<Clock::rep>& ended_at_;
};

StripedStream::StripedStream(std::unique_ptr<Stream> first) {
  OB_EXPECT(first != nullptr);
  parts_.push_back(std::move(first));
}

void StripedStream::stripe(std::vector<std::unique_ptr<Stream>> others, std::uint32_t block_bytes) {
  OB_EXPECT(streams() == 1 && block_bytes > 0 && others.size() < kMaxStreams);
  const std::lock_guard lock(mutex_);
  block_bytes_ = block_bytes;
  std::move(others.begin(), others.end(), std::back_inserter(parts_));
  if (!shut_down_) return;
  for (const auto& part : parts_) part->shut_down();
}

std::unique_ptr<Stream> StripedStream::release() {
  OB_EXPECT(streams() == 1);
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Stream> first = std::move(parts_.front());
  parts_.clear();
  return first;
}

Stream& StripedStream::stream_at(const Position& position) const noexcept {
  const std::uint64_t block = position.load(std::memory_order_relaxed) / block_bytes_;
  return *parts_[block % parts_.size()];
}

// Moves bytes block by block until a stream accepts, or has, no more.
template <class Move>
Result<std::size_t> StripedStream::move_blocks(std::span<const iovec> parts, Position& position,
                                               Move move) {
  detail::Pieces left(parts);
  for (std::size_t moved = 0;;) {
    const std::uint64_t at = position.load(std::memory_order_relaxed);
    std::size_t wanted = 0;
    const std::span<const iovec> pieces = left.next(block_bytes_ - at % block_bytes_, wanted);
    if (wanted == 0 && moved != 0) return moved;
    const Result<std::size_t> now = move(stream_at(position), pieces);
    if (!now.ok() && moved != 0) return moved;  // the next call returns the failure
    if (!now.ok() || wanted == 0) return now;
    position.store(at + *now, std::memory_order_relaxed);
    moved += *now;
    if (*now < wanted) return moved;
    left.advance(*now);
  }
}

Result<std::size_t> StripedStream::try_send(std::span<const iovec> parts) {
  Result<std::size_t> sent = send_some(parts);
  if (sent.ok()) {
    for (const auto& counter : counters_) counter->sent(*sent);
  }
  return sent;
}

Result<std::size_t> StripedStream::try_receive(std::span<const iovec> parts) {
  Result<std::size_t> received = receive_some(parts);
  if (received.ok()) {
    for (const auto& counter : counters_) counter->received(*received);
  }
  return received;
}

Result<std::size_t> StripedStream::send_some(std::span<const iovec> parts) {
  if (parts_.size() == 1) return parts_.front()->try_send(parts);
  return move_blocks(parts, sent_bytes_, [](Stream& stream, std::span<const iovec> pieces) {
    return stream.try_send(pieces);
  });
}

Result<std::size_t> StripedStream::receive_some(std::span<const iovec> parts) {
  if (parts_.size() == 1) return parts_.front()->try_receive(parts);
  return move_blocks(parts, received_bytes_, [](Stream& stream, std::span<const iovec> pieces) {
    return stream.try_receive(pieces);
  });
}

Status StripedStream::wait(bool want_receive, bool want_send, Deadline deadline) {
  if (parts_.size() == 1) return parts_.front()->wait(want_receive, want_send, deadline);
  Watch watch(parts_, want_receive ? &stream_at(received_bytes_) : nullptr,
              want_send ? &stream_at(sent_bytes_) : nullptr, ended_at_);
  (void)spin_.until([&] { return watch.ready_now(); }, 1);
  return wait_striped(watch, deadline);
}

Status StripedStream::wait_striped(Watch& watch, Deadline deadline) {
  for (;;) {
    const Watch::Seen seen = watch.look(watch.sooner(deadline));
    if (shut_down_.load(std::memory_order_relaxed)) return lost("shut down");
    if (seen == Watch::Seen::ready) return {};
    if (seen == Watch::Seen::ended) return lost("the peer closed one of its streams");
    if (!watch.ending()) OB_RETURN_IF_ERROR(check_peers());
    if (Clock::now() >= deadline)
      return {Code::deadline_exceeded, peer() + " let the deadline pass"};
  }
}

// A wait for nothing, with a past deadline, fails if the peer is gone.
Status StripedStream::check_peers() const {
  for (const auto& part : parts_) {
    Status status = part->wait(false, false, Deadline());
    if (!status.ok() && status.code() != Code::deadline_exceeded) return status;
  }
  return {};
}

bool StripedStream::has_unread() const noexcept {
  return (parts_.size() == 1 ? *parts_.front() : stream_at(received_bytes_)).has_unread();
}

bool StripedStream::peer_is_gone() const noexcept {
  const std::lock_guard lock(mutex_);
  return std::any_of(parts_.begin(), parts_.end(),
                     [](const auto& part) { return part->peer_is_gone(); });
}

bool StripedStream::was_closed_by_peer() const noexcept {
  const std::lock_guard lock(mutex_);
  return std::any_of(parts_.begin(), parts_.end(),
                     [](const auto& part) { return part->was_closed_by_peer(); });
}

void StripedStream::shut_down() noexcept {
  const std::lock_guard lock(mutex_);
  shut_down_.store(true, std::memory_order_relaxed);
  for (const auto& part : parts_) part->shut_down();
}

void StripedStream::discard_unsent_at_end() noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& part : parts_) part->discard_unsent_at_end();
}

std::string StripedStream::peer() const {
  const std::lock_guard lock(mutex_);
  if (parts_.empty()) return "a stream that was given away";
  const std::string first = parts_.front()->peer();
  return parts_.size() == 1 ? first : first + " (" + std::to_string(parts_.size()) + " streams)";
}

std::string StripedStream::user() const {
  return parts_.empty() ? std::string() : parts_.front()->user();
}

bool StripedStream::revoked() const {
  const std::lock_guard lock(mutex_);
  return !parts_.empty() && parts_.front()->revoked();
}

bool StripedStream::intact() const noexcept {
  return std::all_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->intact(); });
}

Descriptors StripedStream::descriptors() const noexcept {
  Descriptors all;
  for (const auto& part : parts_) all.numbers[all.count++] = part->descriptor();
  return all;
}

bool StripedStream::can_be_striped() const noexcept {
  return parts_.size() == 1 && parts_.front()->can_be_striped();
}

Status StripedStream::lost(const char* why) const {
  return {Code::connection_lost, "lost the connection to " + peer() + " (" + why + ")"};
}

}  // namespace ob::transport
