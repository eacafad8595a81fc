#pragma once
// Runs symm, hemm, trmm, trsm, syrk, herk, syr2k and her2k. Their operands are transferred while
// the device computes.

#include <optional>

#include "algorithms/call_context.hpp"
#include "algorithms/panels/schedule.hpp"
#include "base/status.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::algorithms {

/// Returns the shape of a call; empty if the routine is none of these.
std::optional<PanelShape> panel_shape(const Descriptor& routine, const Argument* arguments);

/// Runs the call by `schedule`. C is not sent. After the whole result has arrived, the host adds
/// beta C if beta is not 0; for trmm and trsm it replaces B.
/// Tiles off the diagonal of syrk, herk, syr2k and her2k are products of panels (gemm).
/// Memory, threads, errors: as offload_call()
/// Cost: device memory for all operands, with C as a full matrix; host memory for a copy of a
/// result that is replaced or added to
/// @param schedule is made for *panel_shape(routine, arguments)
/// @pre routine.legal(arguments, lds) && !routine.trivial(arguments)
Status offload_panels(const CallContext& context, const PanelSchedule& schedule);

}  // namespace ob::algorithms
