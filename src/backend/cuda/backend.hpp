#pragma once
// The cuda backend: NVIDIA's accelerators, with cuBLAS, cuSOLVER and cuFFT, opened at run time.

#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "device/device.hpp"
#include "device/host_routines.hpp"

namespace ob::cuda {

struct Config {
  /// Number of this device among `devices`, which are distributed cyclically over the accelerators:
  /// several may share one.
  unsigned index = 0;
  unsigned devices = 1;
  /// Cap; 0: nine tenths of what is free, in equal parts for those who share it
  std::uint64_t memory_bytes = 0;
  /// A call or transform that is expected to take longer [s] is refused while others wait; 0: none
  double longest_command_s = 0;
  /// Makes every n-th allocation fail, for tests; 0: none.
  unsigned fail_allocations = 0;
  /// Find out the dgemm rate (some 10 ms, and what opening cuBLAS takes).
  bool measure = true;
  std::shared_ptr<const HostRoutines>
      host;  ///< for routines that NVIDIA's libraries lack; or nullptr
};

/// Returns the number of accelerators.
/// Errors: unavailable, with the reason: no library, no driver, or no accelerator
Result<unsigned> accelerators();

/// Errors: as accelerators(); invalid_argument if the configuration makes no sense
Result<std::unique_ptr<Device>> create(const Config& config);

}  // namespace ob::cuda
