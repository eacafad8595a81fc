#pragma once
// The opencl backend: accelerators of any vendor, with CLBlast and VkFFT. The processor computes
// the routines and transforms that those lack. libOpenCL and CLBlast are opened at run time.

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "device/device.hpp"
#include "device/host_routines.hpp"
#include "device/host_transforms.hpp"

namespace ob::opencl {

struct Config {
  /// The number of this device among `devices`. They are distributed cyclically over OpenCL's
  /// devices, so several may share one.
  unsigned index = 0;
  unsigned devices = 1;
  /// The cap of the device's memory; 0: nine tenths of all memory, in equal parts for the devices
  /// that share it
  std::uint64_t memory_bytes = 0;
  /// A call or transform that is expected to take longer [s] is refused while others wait; 0: none
  double longest_command_s = 0;
  /// Makes every n-th allocation fail, for tests; 0: none.
  unsigned fail_allocations = 0;
  /// Measures the dgemm rate, except on a processor, where compilation takes 10 s.
  bool measure = true;
  /// Runs kernels of programs, in this process: a bad one can end it. Else they are refused.
  bool kernels = false;
  std::shared_ptr<const HostRoutines> host;          ///< for LAPACK and BLAS 1 and 2; or nullptr
  std::shared_ptr<const HostTransforms> transforms;  ///< for transforms VkFFT lacks; or nullptr
};

/// The devices that OpenCL finds.
struct Found {
  unsigned devices = 0;
  unsigned accelerators = 0;  ///< the number of those that are not the processor itself
};
/// Counts the devices.   Errors: unavailable, with the reason: no library, no platform, or no
/// device
Result<Found> find();

/// Makes the device.   Errors: as find(); invalid_argument if the configuration is invalid
Result<std::unique_ptr<Device>> create(const Config& config);

}  // namespace ob::opencl
