#pragma once

#include "transport/address.hpp"
#include "transport/stream.hpp"

namespace ob::transport::shm {

/// Connects to the listener at a path; see transport::connect.
/// Errors: unavailable; denied if either side does not trust the other's user
Result<std::unique_ptr<Stream>> connect(const UnixAddress& address, Deadline deadline);

}  // namespace ob::transport::shm
