#pragma once
// The cuda backend: NVIDIA's accelerators, with cuBLAS, cuSOLVER and cuFFT, opened at run time.

#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "device/device.hpp"
#include "device/host_routines.hpp"

namespace ob::cuda {

struct Config {
  /// Of this device among `devices`, which are dealt out to the accelerators in turn: several may
  /// share one.
  unsigned index = 0;
  unsigned devices = 1;
  /// Cap; 0: nine tenths of what is free, in equal parts for those who share it
  std::uint64_t memory_bytes = 0;
  /// A call or transform that is expected to take longer [s] is refused while others wait; 0: none
  double longest_command_s = 0;
  /// Every so-many-th allocation fails, for tests of those who must live with it; 0: none.
  unsigned fail_allocations = 0;
  /// Find out the dgemm rate (some 10 ms, and what opening cuBLAS takes).
  bool measure = true;
  std::shared_ptr<const HostRoutines> host;  ///< for what NVIDIA's libraries lack; or nullptr
};

/// How many accelerators there are.
/// Errors: unavailable, with the reason: no library, no driver, or no accelerator
Result<unsigned> accelerators();

/// Errors: as accelerators(); invalid_argument if the configuration makes no sense
Result<std::unique_ptr<Device>> create(const Config& config);

}  // namespace ob::cuda
