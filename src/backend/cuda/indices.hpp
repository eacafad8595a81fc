#pragma once
// Checks the pivots that a call reads.

#include "backend/cuda/stream_context.hpp"
#include "device/host_call.hpp"

namespace ob::cuda {

/// Checks the pivots on the host. A kernel that uses a pivot outside of its matrix would end the
/// work of all clients on the device.
/// Errors: invalid_argument if one is outside; device_error   Threads: the one that submits
Status check_indices(StreamContext& context, const HostCall& call);

}  // namespace ob::cuda
