#pragma once

#include "transport/address.hpp"
#include "transport/stream.hpp"

namespace ob::transport::tcp {

/// Connects to the first address of the host that answers; see transport::connect.
Result<std::unique_ptr<Stream>> connect(const TcpAddress& address, Deadline deadline);

}  // namespace ob::transport::tcp
