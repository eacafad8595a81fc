#pragma once
// The settings of a null device.

#include <cstdint>

namespace ob::null {

struct Config {
  unsigned index = 0;  ///< number of this device among `devices`
  unsigned devices = 1;
  std::uint64_t memory_bytes = 0;  ///< cap; 0: an equal part of the machine's memory
  double rate_gflops = 0;          ///< calls and transforms take flops / rate; 0: no time
  double plan_seconds = 0;         ///< making a plan takes this long, one at a time
  /// A call or transform that is expected to take longer [s] is refused while others wait; 0: none
  double longest_command_s = 0;
};

}  // namespace ob::null
