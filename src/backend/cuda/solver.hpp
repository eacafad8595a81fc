#pragma once
// Rows of LAPACK, each by one function of cuSOLVER.

#include "backend/cuda/stream_context.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::cuda {

/// True if cuSOLVER has a function for the row, though perhaps not for all arguments.
bool solver_has(const Descriptor& routine) noexcept;

/// Runs the function, waits for it and returns info. The info argument of the call is not written.
/// Errors: unsupported if the library lacks it or refuses the arguments, or a dimension exceeds its
///         integers; unavailable; out_of_memory; device_error
/// @pre solver_has(routine)
Result<std::int64_t> run_solver(StreamContext& context, const Descriptor& routine,
                                const Argument* arguments);

}  // namespace ob::cuda
