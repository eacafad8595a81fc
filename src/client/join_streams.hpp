#pragma once
// The client's side of striping a connection.

#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "transport/stream.hpp"
#include "wire/message.hpp"

namespace ob::client {

/// Opens the further streams that the daemon granted, and returns them once all have joined.
/// Errors: those of transport::connect; the daemon's refusal of a stream; protocol_error
Result<std::vector<std::unique_ptr<transport::Stream>>> join_streams(const std::string& address,
                                                                     const wire::Stripes& terms,
                                                                     transport::Deadline deadline);

}  // namespace ob::client
