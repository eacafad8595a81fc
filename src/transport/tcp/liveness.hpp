#pragma once

namespace ob::transport::tcp {

/// True if the peer's machine has not acknowledged our data for several seconds. A peer that
/// answers but does not read is alive.   Cost: a system call
bool peer_is_silent(int fd) noexcept;

}  // namespace ob::transport::tcp
