#pragma once
// Calls of the program that factor a matrix, over devices.

#include <cstdint>

#include "algorithms/call_timings.hpp"
#include "algorithms/exchange/panel_exchange.hpp"
#include "algorithms/factor/plan.hpp"
#include "base/status.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::algorithms {

/// True of potrf, getrf, geqrf, and of posv and gesv, which solve on the first device.
bool can_be_factored(const Descriptor& routine);

/// @pre can_be_factored(routine), as for all below
FactorShape factor_shape(const Descriptor& routine, const Argument* arguments);

/// What the call takes of a device that is given all of it.   Units: bytes
double factor_bytes_at_once(const Descriptor& routine, const Argument* arguments);

/// Runs the call on all devices of the exchange; slab after slab, if the model says that they have
/// not the memory for all of A. Memory:  arguments hold Argument::host; what the call reads changes
/// only when all results are in hand; as much as A on this side, and B Errors:  those of the
/// devices; out_of_memory if not even a slab of one block fits. The caller's memory is intact then
/// @pre     routine.legal(arguments, lds) && !routine.trivial(arguments), plan.devices ==
/// exchange.size()
Status offload_factorization(PanelExchange& exchange, const Descriptor& routine,
                             const Argument* arguments, const FactorPlan& plan,
                             CallTimings& timings);

}  // namespace ob::algorithms
