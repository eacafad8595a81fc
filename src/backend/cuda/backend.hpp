#pragma once
// The cuda backend: NVIDIA's accelerators, with cuBLAS, cuSOLVER and cuFFT, opened at run time.

#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "device/device.hpp"
#include "device/host_routines.hpp"

namespace ob::cuda {

struct Config {
  /// The number of this device among `devices`. They are distributed cyclically over the
  /// accelerators, so several may share one.
  unsigned index = 0;
  unsigned devices = 1;
  /// The cap of the device's memory; 0: nine tenths of the free memory, in equal parts for the
  /// devices that share it
  std::uint64_t memory_bytes = 0;
  /// A call or transform that is expected to take longer [s] is refused while others wait; 0: none
  double longest_command_s = 0;
  /// Makes every n-th allocation fail, for tests; 0: none.
  unsigned fail_allocations = 0;
  /// Measures the dgemm rate (some 10 ms, and the time to open cuBLAS).
  bool measure = true;
  /// Runs kernels of programs, in this process: a bad one can end it. Else they are refused.
  bool kernels = false;
  std::shared_ptr<const HostRoutines>
      host;  ///< for routines that NVIDIA's libraries lack; or nullptr
};

/// Returns the number of accelerators.
/// Errors: unavailable, with the reason: no library, no driver, or no accelerator
Result<unsigned> accelerators();

/// Makes the device.   Errors: as accelerators(); invalid_argument if the configuration is invalid
Result<std::unique_ptr<Device>> create(const Config& config);

}  // namespace ob::cuda
