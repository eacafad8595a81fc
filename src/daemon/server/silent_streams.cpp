#include "daemon/server/silent_streams.hpp"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include "daemon/server/stream_source.hpp"

namespace ob::daemon {
namespace {

using transport::Clock;

constexpr std::uint64_t kWakeId = 0;
constexpr std::size_t kMostSilent = 1024;
// Buffers, connections and handshakes need the other descriptors.
constexpr std::size_t kDescriptorParts = 16;

bool watch(int epoll, int descriptor, std::uint64_t id) noexcept {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = id;
  return ::epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

}  // namespace

std::size_t SilentStreams::share_of_process() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 64;
  return std::min<std::size_t>(kMostSilent, limit.rlim_cur / kDescriptorParts);
}

SilentStreams::SilentStreams(const Limits& limits, Closed closed)
    : limits_(limits),
      closed_(std::move(closed)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      counts_(limits.total) {
  // Without these descriptors, add() finds that it cannot watch a stream.
  if (watch(epoll_.get(), wake_.get(), kWakeId)) thread_ = std::thread([this] { run(); });
}

SilentStreams::~SilentStreams() { close(); }

void SilentStreams::close() {
  Streams gone;
  {
    const std::lock_guard lock(mutex_);
    if (closing_) return;
    closing_ = true;
    gone.swap(streams_);
    counts_.clear();
  }
  (void)::eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

void SilentStreams::add(std::unique_ptr<transport::Stream> stream, Heard heard) {
  if (bytes_of(*stream) == Bytes::some) return heard(std::move(stream));
  const int descriptor = stream->descriptor();
  std::string source = source_of(stream->peer());
  Streams::node_type displaced;
  {
    const std::lock_guard lock(mutex_);
    if (closing_) return;
    displaced = make_room_for(source);
    if (thread_.joinable() && watch(epoll_.get(), descriptor, ++last_id_)) {
      counts_.add(source);
      streams_.emplace(last_id_, Silent{std::move(stream), std::move(source),
                                        Clock::now() + limits_.time, std::move(heard)});
    }
  }
  if (stream != nullptr) heard(std::move(stream));
  if (displaced.empty()) return;
  Silent& oldest = displaced.mapped();
  // Its bytes may have come just now, before the thread has seen them.
  if (bytes_of(*oldest.stream) == Bytes::some) return oldest.heard(std::move(oldest.stream));
  closed_(oldest.source, {Code::unavailable, "it sent nothing, and gave way to a newer one"});
}

// Returns the stream that gives way to a new one, if any must.
SilentStreams::Streams::node_type SilentStreams::make_room_for(const std::string& source) {
  const auto from = counts_.gives_way_to(source);
  if (!from) return {};
  return remove(std::find_if(streams_.begin(), streams_.end(),
                             [&](const auto& each) { return each.second.source == *from; }));
}

SilentStreams::Streams::node_type SilentStreams::remove(Streams::iterator at) {
  const Silent& silent = at->second;
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, silent.stream->descriptor(), nullptr);
  counts_.remove(silent.source);
  return streams_.extract(at);
}

SilentStreams::Bytes SilentStreams::bytes_of(const transport::Stream& stream) noexcept {
  std::byte first{};
  const ssize_t got =
      ::recv(stream.descriptor(), &first, 1, MSG_PEEK | MSG_DONTWAIT | MSG_NOSIGNAL);
  if (got > 0) return Bytes::some;
  const bool waits = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  return waits ? Bytes::none : Bytes::ended;
}

// --- the thread ----------------------------------------------------------------------------------

void SilentStreams::run() {
  std::array<epoll_event, 64> events;
  for (;;) {
    const int count =
        ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_ms());
    for (const epoll_event& event : std::span(events).first(std::max(0, count))) {
      if (event.data.u64 == kWakeId) return;
      take_event(event.data.u64);
    }
    close_late();
  }
}

// The time until the first deadline. A stream that comes later has a later one.
int SilentStreams::wait_ms() {
  using std::chrono::milliseconds;
  const std::lock_guard lock(mutex_);
  if (streams_.empty()) return static_cast<int>(limits_.time.count());
  const auto left = streams_.begin()->second.deadline - Clock::now();
  return static_cast<int>(std::max(milliseconds(0), std::chrono::ceil<milliseconds>(left)).count());
}

void SilentStreams::take_event(std::uint64_t id) {
  Streams::node_type taken;
  Bytes bytes = Bytes::none;
  {
    const std::lock_guard lock(mutex_);
    const auto at = streams_.find(id);
    if (at == streams_.end()) return;  // it was closed meanwhile
    bytes = bytes_of(*at->second.stream);
    if (bytes == Bytes::none) return;
    taken = remove(at);
  }
  Silent& silent = taken.mapped();
  if (bytes == Bytes::some) silent.heard(std::move(silent.stream));
}

void SilentStreams::close_late() {
  for (;;) {
    Streams::node_type late;
    {
      const std::lock_guard lock(mutex_);
      if (streams_.empty() || streams_.begin()->second.deadline > Clock::now()) return;
      late = remove(streams_.begin());
    }
    closed_(late.mapped().source, {Code::deadline_exceeded, "it sent nothing for too long"});
  }
}

}  // namespace ob::daemon
