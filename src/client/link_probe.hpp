#pragma once
// Measures a new connection.

#include <cstdint>

#include "base/link.hpp"
#include "client/remote_device.hpp"

namespace ob::client {

enum class Thoroughness : std::uint8_t {
  quick,     ///< up to 1 MiB and some milliseconds
  thorough,  ///< from 4 KiB to 64 MiB, some seconds at most
};

/// Measures the round trip by a ping, the times of both directions by size in used memory, and the
/// additional time of memory that is new.
/// Cost: host and device memory of the largest size, and 3 MiB   Errors: those of the device
Result<Link> measure_link(RemoteDevice& device, QueueId queue, Thoroughness how);

}  // namespace ob::client
