#pragma once
// Work for an acquired device.

#include "algorithms/call_timings.hpp"
#include "base/status.hpp"
#include "client/connection_cache.hpp"

namespace ob::offload {

/// A job may run again after a failure: until it succeeds, nothing of the caller's memory changes
/// that another run would not put right.
class DeviceJob {
 public:
  virtual ~DeviceJob() = default;
  virtual Status run(client::AcquiredDevice& acquired, algorithms::CallTimings& timings) = 0;
};

}  // namespace ob::offload
