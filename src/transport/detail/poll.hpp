#pragma once

#include <poll.h>

#include <span>

#include "transport/stream.hpp"

namespace ob::transport::detail {

/// Waits until one of `descriptors` is ready or the deadline passes; a deadline in the past only
/// looks. Returns how many are ready, 0 at the deadline, -1 with errno set on failure (never
/// EINTR).
int poll_until(std::span<pollfd> descriptors, Deadline deadline) noexcept;

/// The same for one descriptor; returns its revents, 0 at the deadline, POLLERR on failure.
short poll_until(int fd, short events, Deadline deadline) noexcept;

/// now + duration, or `deadline` if that is earlier.
Deadline sooner(Deadline deadline, Clock::duration duration) noexcept;

}  // namespace ob::transport::detail
