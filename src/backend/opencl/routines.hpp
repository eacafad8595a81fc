#pragma once
// Runs a call with CLBlast or, if CLBlast lacks it, on the processor.

#include "backend/opencl/queue_context.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::opencl {

/// Runs the call.
/// Memory: operands on the device   Threads: the queue's worker
/// Errors: unsupported if neither has it; invalid_argument for pivots outside their matrix;
/// out_of_memory; device_error
Status run_routine(QueueContext& context, const Descriptor& routine, const Argument* arguments);

}  // namespace ob::opencl
