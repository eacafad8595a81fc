#pragma once
// The cpu backend's library for other backends' devices.

#include <memory>

#include "base/status.hpp"
#include "device/host_routines.hpp"

namespace ob::cpu {

/// Opens the library of a cpu device. This sets environment variables for a moment.
/// @param threads the number of threads of each call
/// Threads: opening: before threads that use the environment
/// Errors: unavailable without a library; the message names the package to install
Result<std::unique_ptr<HostRoutines>> open_host_routines(unsigned threads);

}  // namespace ob::cpu
