#pragma once

#include <atomic>

#include "base/fd.hpp"
#include "transport/stream.hpp"

namespace ob::transport::detail {

/// Waits for one connection on a listening socket. Each event of the socket checks `closed`.
/// Errors: deadline_exceeded; unavailable once closed; out_of_memory if descriptors stayed short
///         until the deadline
Status accept(int listener, const std::atomic<bool>& closed, Deadline deadline, Fd& out);

}  // namespace ob::transport::detail
