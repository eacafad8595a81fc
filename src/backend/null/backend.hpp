#pragma once
// A device without hardware: memory and copies work; routines, transforms and kernels compute
// nothing.
//
// The skeleton of a backend: to write one, copy this folder, then
//   config.hpp         the settings of a device
//   backend.{hpp,cpp}  the creation of a device (open the vendor's libraries here)
//   kernels.{hpp,cpp}  the compiler and the launches of kernels, if the device is to run them
//   device.{hpp,cpp}   routine calls and transforms; memory, queues, events and copies come from
//                      HostDevice if the elements lie in host memory, else from AcceleratorDevice,
//                      which wants a queue of the backend's (as backend/opencl has)
// and add it to the backends that outboardd lists and to the factories of tests/conformance/device.

#include <memory>

#include "backend/null/config.hpp"
#include "base/status.hpp"
#include "device/device.hpp"

namespace ob::null {

/// Errors: invalid_argument if the configuration is not valid.
Result<std::unique_ptr<Device>> create(const Config& config);

}  // namespace ob::null
