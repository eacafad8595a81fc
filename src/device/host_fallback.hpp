#pragma once
// A call on the processor whose operands lie on a device.

#include <functional>
#include <string_view>

#include "device/host_routines.hpp"
#include "device/operand_copies.hpp"

namespace ob {

/// How operands get to the processor and back.
struct HostPassage {
  /// Host memory that the copies may use, for as long as the call runs.
  std::function<Result<std::byte*>(std::uint64_t size_bytes)> memory;
  CopyColumns down;                ///< from the device, or submits that
  CopyColumns up;                  ///< to the device, or submits that
  std::function<Status()> finish;  ///< waits for what was submitted
};

/// Copies the operands to host memory, has the daemon's CPU library run the routine there, and
/// copies the results back; waits for all of it.
/// Memory: operands on the device
/// @param lacking for people: what lacks the routine, "this device's libraries"
/// Errors: unsupported if the host's library lacks it, too; invalid_argument if a pivot points
/// outside its matrix; out_of_memory; those of the passage
Status run_on_host(const HostRoutines* host, std::string_view lacking, const Descriptor& routine,
                   const Argument* arguments, const HostPassage& passage);

}  // namespace ob
