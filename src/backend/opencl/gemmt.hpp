#pragma once
// gemmt (gemmtr), which CLBlast lacks: one triangle of a product.

#include "backend/opencl/queue_context.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::opencl {

/// Submits products of whole blocks (device/blocked_gemmt.hpp).
/// @pre is_gemmt(routine) && n > 0   Errors: as run_blas
Status run_gemmt(QueueContext& context, const Descriptor& routine, const Argument* arguments);

}  // namespace ob::opencl
