#pragma once

#include <poll.h>

#include <chrono>
#include <span>

#include "transport/stream.hpp"

namespace ob::transport::detail {

/// Waits until one of `descriptors` is ready or the deadline passes. A deadline in the past only
/// checks. Returns the number of ready descriptors, 0 at the deadline, or -1 with errno set on
/// failure (never EINTR).
int poll_until(std::span<pollfd> descriptors, Deadline deadline) noexcept;

/// Waits for one descriptor; returns its revents, 0 at the deadline, or POLLERR on failure.
short poll_until(int fd, short events, Deadline deadline) noexcept;

/// A waiting thread checks at this interval that its peer still answers.
inline constexpr std::chrono::milliseconds kLivenessSlice{250};

/// Returns now + duration, or `deadline` if that is earlier.
Deadline sooner(Deadline deadline, Clock::duration duration) noexcept;

}  // namespace ob::transport::detail
