#pragma once
// Runs routines that NVIDIA's libraries lack on the processor.

#include "backend/cuda/stream_context.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::cuda {

/// Copies the operands to pinned memory, runs the routine of the daemon's CPU library on them, and
/// copies the results back. Waits for all of this.
/// Memory: operands on the device   Threads: the one that submits
/// Errors: unsupported if that library lacks it, too; out_of_memory; device_error
Status run_on_host(StreamContext& context, const Descriptor& routine, const Argument* arguments);

}  // namespace ob::cuda
