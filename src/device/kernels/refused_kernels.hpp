#pragma once
// Devices that could run kernels of programs, but must not.

#include <memory>

#include "device/kernels/kernel_runner.hpp"

namespace ob {

/// Returns a runner for accelerators of a daemon that has not permitted kernels in its own process.
/// All its functions fail with `unsupported` and the option that permits them.
std::shared_ptr<const KernelRunner> refused_kernels();

}  // namespace ob
