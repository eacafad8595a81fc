#pragma once
// A call by whatever has it: CLBlast, else the processor.

#include "backend/opencl/queue_context.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::opencl {

/// Memory: operands on the device   Threads: the queue's executor
/// Errors: unsupported if nothing here has it; invalid_argument for pivots outside their matrix;
/// out_of_memory; device_error
Status run_routine(QueueContext& context, const Descriptor& routine, const Argument* arguments);

}  // namespace ob::opencl
