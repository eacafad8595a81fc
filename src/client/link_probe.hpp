#pragma once
// Measures a fresh connection.

#include "base/link.hpp"
#include "client/remote_device.hpp"

namespace ob::client {

/// Round trip by ping; bandwidth by sending and fetching a few MiB once the buffer is touched.
/// Cost: some milliseconds and 4 MiB of host and device memory.   Errors: those of the device
Result<Link> measure_link(RemoteDevice& device, QueueId queue);

}  // namespace ob::client
