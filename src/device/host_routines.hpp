#pragma once
// Library calls on host memory. Devices use them for routines that their own libraries lack.

#include "base/status.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob {

/// Threads: any; calls run one after the other
class HostRoutines {
 public:
  virtual ~HostRoutines() = default;

  virtual bool has(const Descriptor& routine) const noexcept = 0;
  /// Runs a checked call; memory operands are Argument::host, in host memory.
  /// Errors: unsupported if the library lacks it; out_of_memory for its workspace;
  ///         invalid_argument if the library refuses it
  virtual Status run(const Descriptor& routine, const Argument* arguments) const = 0;
};

}  // namespace ob
