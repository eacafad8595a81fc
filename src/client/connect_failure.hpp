#pragma once
// The words in which a client reports that it could not connect.

#include <string>

#include "base/status.hpp"

namespace ob::client {

/// Returns the failure of a connection to `address` as one sentence that names the address once,
/// and says what to do. Failures before the handshake have such sentences already.
Status connect_failure(const std::string& address, const Status& status);

}  // namespace ob::client
