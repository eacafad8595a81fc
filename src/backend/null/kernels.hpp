#pragma once
// Kernels that compute nothing.

#include <memory>

#include "device/kernels/kernel_runner.hpp"

namespace ob::null {

/// Makes a runner that reads the signatures of portable and OpenCL sources, without a compiler.
/// Launches are checked and do nothing.
/// Threads: any   Errors of compile(): build_failed for signatures that cannot be read
std::shared_ptr<const KernelRunner> make_kernels();

}  // namespace ob::null
