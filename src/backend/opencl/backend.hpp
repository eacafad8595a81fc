#pragma once
// The opencl backend: any vendor's accelerators, with CLBlast and VkFFT, and the processor for what
// those lack. libOpenCL and CLBlast are opened at run time.

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "device/device.hpp"
#include "device/host_routines.hpp"
#include "device/host_transforms.hpp"

namespace ob::opencl {

struct Config {
  /// Of this device among `devices`, which are dealt out to OpenCL's devices in turn: several may
  /// share one.
  unsigned index = 0;
  unsigned devices = 1;
  /// Cap; 0: nine tenths of the device's memory, in equal parts for those who share it
  std::uint64_t memory_bytes = 0;
  /// A call or transform that is expected to take longer [s] is refused while others wait; 0: none
  double longest_command_s = 0;
  /// Every so-many-th allocation fails, for tests of those who must live with it; 0: none.
  unsigned fail_allocations = 0;
  /// Find out the dgemm rate. Not of a processor: compiling takes it 10 s.
  bool measure = true;
  std::shared_ptr<const HostRoutines> host;          ///< for LAPACK and BLAS 1 and 2; or nullptr
  std::shared_ptr<const HostTransforms> transforms;  ///< for what VkFFT lacks; or nullptr
};

/// What OpenCL finds.
struct Found {
  unsigned devices = 0;
  unsigned accelerators = 0;  ///< of them, those that are not the processor itself
};
/// Errors: unavailable, with the reason: no library, no platform, or no device
Result<Found> find();

/// Errors: as find(); invalid_argument if the configuration makes no sense
Result<std::unique_ptr<Device>> create(const Config& config);

}  // namespace ob::opencl
