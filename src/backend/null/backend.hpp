#pragma once
// A device without silicon: memory and copies work, routines and transforms compute nothing.
//
// The skeleton of a backend: to write one, copy this folder, then
//   backend.{hpp,cpp}  what can be configured, and how a device is made (open the vendor's
//                      libraries here)
//   device.{hpp,cpp}   routine calls and transforms; memory, queues, events and copies come from
//                      HostDevice if the elements lie in host memory, else from AcceleratorDevice,
//                      which wants a queue of the backend's (as backend/opencl has)
// and add it to the backends that outboardd lists and to the factories of tests/conformance/device.

#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "device/device.hpp"

namespace ob::null {

struct Config {
  unsigned index = 0;  ///< of this device among `devices`
  unsigned devices = 1;
  std::uint64_t memory_bytes = 0;  ///< cap; 0: an equal part of the machine's memory
  double rate_gflops = 0;          ///< calls and transforms take flops / rate; 0: no time
  double plan_seconds = 0;         ///< making a plan takes this long, one at a time
  /// A call or transform that is expected to take longer [s] is refused while others wait; 0: none
  double longest_command_s = 0;
};

/// Errors: invalid_argument if the configuration makes no sense.
Result<std::unique_ptr<Device>> create(const Config& config);

}  // namespace ob::null
