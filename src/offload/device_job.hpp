#pragma once
// Work for an acquired device.

#include "algorithms/call_timings.hpp"
#include "base/status.hpp"
#include "client/connection_cache.hpp"

namespace ob::offload {

/// A job may run again after a failure. Until it succeeds, it changes only such memory of the
/// caller as another run writes again.
class DeviceJob {
 public:
  virtual ~DeviceJob() = default;
  virtual Status run(client::AcquiredDevice& acquired, algorithms::CallTimings& timings) = 0;
};

}  // namespace ob::offload
