#pragma once
// Calls of the program that factor a matrix, over several devices.

#include <cstdint>

#include "algorithms/fabric.hpp"
#include "algorithms/stages.hpp"
#include "algorithms/step_model.hpp"
#include "base/status.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::algorithms {

/// True of potrf, getrf, geqrf, and of posv and gesv, which solve on the first device.
bool can_be_factored(const Descriptor& routine);

/// @pre can_be_factored(routine), as for all below
FactorShape factor_shape(const Descriptor& routine, const Argument* arguments);

/// Runs the call on all devices of the fabric, in blocks of so many columns.
/// Memory:  arguments hold Argument::host; what the call reads changes only when all results are in
/// hand; as much as A on this side, and B
/// Errors:  those of the devices; the caller's memory is intact then
/// @pre     routine.legal(arguments, lds) && !routine.trivial(arguments)
Status offload_factorization(Fabric& fabric, const Descriptor& routine, const Argument* arguments,
                             std::uint64_t block, Stages& stages);

}  // namespace ob::algorithms
