#pragma once

#include "transport/address.hpp"
#include "transport/stream.hpp"

namespace ob::transport::tcp {

/// Connects to the first address of the host that answers; see transport::connect.
Result<std::unique_ptr<Stream>> connect(const TcpAddress& address, Deadline deadline);

/// Connects to a Unix socket of type SOCK_STREAM; see transport::connect_plainly.
Result<std::unique_ptr<Stream>> connect(const UnixAddress& address, Deadline deadline);

}  // namespace ob::transport::tcp
