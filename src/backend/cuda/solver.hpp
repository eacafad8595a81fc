#pragma once
// Rows of LAPACK that are one function of cuSOLVER.

#include "backend/cuda/stream_context.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::cuda {

/// True if cuSOLVER has a function for it (perhaps not for all arguments).
bool solver_has(const Descriptor& routine) noexcept;

/// Runs the function and waits for it. The call's own info stays as it is.
/// @returns info
/// @pre solver_has(routine)
/// Errors: unsupported if the library lacks it or refuses the arguments, or a dimension is beyond
/// its integers; unavailable; out_of_memory; device_error
Result<std::int64_t> run_solver(StreamContext& context, const Descriptor& routine,
                                const Argument* arguments);

}  // namespace ob::cuda
