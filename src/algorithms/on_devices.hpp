#pragma once
// Runs one call on several devices that the caller chooses, without measurements.

#include <span>

#include "base/status.hpp"
#include "device/device.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::algorithms {

/// True for the products of level 3 that can be split, and for potrf, getrf, geqrf, posv and gesv.
bool runs_on_devices(const Descriptor& routine);

/// Runs the call on all devices, which may be of different kinds, and waits for it. Products are
/// cut into one part for each device, in proportion to the rates that the devices tell;
/// factorizations go in blocks, and their panels through this process.
/// Memory:  arguments hold Argument::host. Operands that the call reads change only when all
///          results have arrived; index vectors and info have 64 bits
/// Threads: any; one for each device runs meanwhile
/// Errors:  those of the devices, with the device's description; out_of_memory
/// @pre     runs_on_devices(routine), routine.legal(arguments, lds), !routine.trivial(arguments),
///          devices is not empty
Status run_on_devices(std::span<Device* const> devices, const Descriptor& routine,
                      const Argument* arguments);

}  // namespace ob::algorithms
