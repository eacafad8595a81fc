#pragma once
// gemmt (gemmtr), which CLBlast lacks: one triangle of a product.

#include <cstdint>

#include "backend/opencl/queue_context.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::opencl {

/// The order of the blocks. It is large enough for gemm's full speed.
inline constexpr std::int64_t kGemmtBlock = 1024;

/// Submits products of whole blocks (device/blocked_gemmt.hpp).
/// Errors: as submit_clblast
/// @pre is_gemmt(routine) && gemmt_order(arguments) > 0
Status run_gemmt(QueueContext& context, const Descriptor& routine, const Argument* arguments);

}  // namespace ob::opencl
