#pragma once
// symm, hemm, trmm, trsm, syrk, herk, syr2k and her2k whose operands travel while the device
// computes.

#include <optional>

#include "algorithms/call_context.hpp"
#include "algorithms/panels/schedule.hpp"
#include "base/status.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::algorithms {

/// Empty if it is none of these routines.
std::optional<PanelShape> panel_shape(const Descriptor& routine, const Argument* arguments);

/// Runs the call by `schedule`. C is not sent: where beta is not 0, beta C is added here once the
/// whole product is in hand; B of trmm and trsm is replaced then.
/// Tiles off the diagonal of syrk, herk, syr2k and her2k are products of panels (gemm).
/// Memory, threads, errors: as offload_call()   Cost: device memory for all operands, C as a full
/// matrix; for what is replaced or added to, as much on this side, too
/// @param schedule of *panel_shape(routine, arguments)
/// @pre routine.legal(arguments, lds) && !routine.trivial(arguments)
Status offload_panels(const CallContext& context, const PanelSchedule& schedule);

}  // namespace ob::algorithms
