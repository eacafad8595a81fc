#pragma once
// Kernels of programs on the processor, for devices in host memory.

#include <memory>

#include "device/kernels/kernel_runner.hpp"

namespace ob::opencl {

/// Makes a runner for devices whose memory is that of this process. It compiles with PoCL, which is
/// opened when it is first needed, and uses the memory directly. A kernel that leaves its buffers
/// can end the process.
/// Threads: any   Errors of usable(): unsupported without PoCL
std::shared_ptr<const KernelRunner> make_host_kernels();

}  // namespace ob::opencl
