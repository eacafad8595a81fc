#pragma once
// The cpu backend's library for other backends' devices.

#include <memory>

#include "base/status.hpp"
#include "device/host_routines.hpp"

namespace ob::cpu {

/// The library that a cpu device would compute with. Opening sets environment variables for a
/// moment.
/// @param threads what each call may use
/// Threads: opening: before threads that use the environment
/// Errors: unavailable if there is no library; says what to install
Result<std::unique_ptr<HostRoutines>> open_host_routines(unsigned threads);

}  // namespace ob::cpu
