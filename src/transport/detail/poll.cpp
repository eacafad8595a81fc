#include "transport/detail/poll.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace ob::transport::detail {
namespace {

// Limits one poll, so that the conversion of a far deadline cannot overflow; the loop polls again.
constexpr std::chrono::hours kLongestSlice{1};

timespec time_left(Deadline deadline) noexcept {
  const Deadline now = Clock::now();
  if (deadline <= now) return {};
  const auto left = std::min<Clock::duration>(deadline - now, kLongestSlice);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(left - seconds);
  timespec time = {};
  time.tv_sec = static_cast<time_t>(seconds.count());
  time.tv_nsec = static_cast<long>(rest.count());
  return time;
}

}  // namespace

int poll_until(std::span<pollfd> descriptors, Deadline deadline) noexcept {
  for (;;) {
    const timespec time = time_left(deadline);
    const int ready = ::ppoll(descriptors.data(), descriptors.size(), &time, nullptr);
    if (ready > 0) return ready;
    if (ready < 0 && errno != EINTR) return -1;
    if (Clock::now() >= deadline) return 0;
  }
}

short poll_until(int fd, short events, Deadline deadline) noexcept {
  pollfd descriptor{fd, events, 0};
  const int ready = poll_until(std::span(&descriptor, 1), deadline);
  return ready < 0 ? static_cast<short>(POLLERR) : descriptor.revents;
}

Deadline sooner(Deadline deadline, Clock::duration duration) noexcept {
  return std::min(deadline, Clock::now() + duration);
}

}  // namespace ob::transport::detail
