#pragma once
// Checks the pivots that a call reads.

#include "backend/cuda/stream_context.hpp"
#include "device/host_call.hpp"

namespace ob::cuda {

/// Copies the pivots to workspace, checks the copy on the host, and lets the call use it: another
/// queue of the client may write to the pivots in the meantime. A kernel that uses a pivot outside
/// of its matrix would end the work of all clients on the device.
/// Errors: invalid_argument if one is outside; out_of_memory; device_error
/// Threads: the one that submits
Status check_indices(StreamContext& context, HostCall& call);

}  // namespace ob::cuda
