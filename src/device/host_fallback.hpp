#pragma once
// Calls on the processor with operands on a device.

#include <functional>
#include <string_view>

#include "device/host_routines.hpp"
#include "device/operand_copies.hpp"

namespace ob {

/// The copies of operands to the processor and back.
struct HostStaging {
  /// Returns host memory that is valid while the call runs.
  std::function<Result<std::byte*>(std::uint64_t size_bytes)> memory;
  CopyColumns down;                ///< copies from the device, or submits such a copy
  CopyColumns up;                  ///< copies to the device, or submits such a copy
  std::function<Status()> finish;  ///< waits for submitted copies
};

/// Copies the operands to host memory, runs the routine of the daemon's CPU library there, copies
/// the results back, and waits for all of it.
/// Memory: operands on the device
/// Errors: unsupported if the host's library lacks it, too; invalid_argument if a pivot points
///         outside its matrix; out_of_memory; those of the staging
/// @param lacking names the libraries without the routine for messages: "this device's libraries"
Status run_on_host(const HostRoutines* host, std::string_view lacking, const Descriptor& routine,
                   const Argument* arguments, const HostStaging& staging);

}  // namespace ob
