#pragma once
// Calls of the program that factor a matrix, on several devices.

#include <cstdint>

#include "algorithms/call_timings.hpp"
#include "algorithms/exchange/panel_exchange.hpp"
#include "algorithms/factor/plan.hpp"
#include "base/status.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::algorithms {

/// True for potrf, getrf and geqrf, and for posv and gesv, which solve on the first device.
bool can_be_factored(const Descriptor& routine);

/// @pre can_be_factored(routine), as for all below
FactorShape factor_shape(const Descriptor& routine, const Argument* arguments);

/// The memory that the call needs on a device that runs all of it.   Units: bytes
double factor_bytes_at_once(const Descriptor& routine, const Argument* arguments);

/// Runs the call on all devices of the exchange, slab after slab if by the model they lack the
/// memory for all of A at once.
/// Memory:  arguments hold Argument::host; operands that the call reads change only when all of the
///          results have arrived; host memory of the size of A, and of B
/// Errors:  those of the devices; out_of_memory if not even a slab of one block fits. The memory of
///          the caller is unchanged then
/// @pre     routine.legal(arguments, lds) && !routine.trivial(arguments)
/// @pre     plan.devices == exchange.size()
Status offload_factorization(PanelExchange& exchange, const Descriptor& routine,
                             const Argument* arguments, const FactorPlan& plan,
                             CallTimings& timings);

}  // namespace ob::algorithms
