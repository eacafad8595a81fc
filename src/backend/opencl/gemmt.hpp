#pragma once
// gemmt (gemmtr), which CLBlast lacks: one triangle of a product.

#include <cstdint>

#include "backend/opencl/queue_context.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::opencl {

/// Order of the blocks: large enough for gemm's full speed.
inline constexpr std::int64_t kGemmtBlock = 1024;

/// Submits products of whole blocks (device/blocked_gemmt.hpp).
/// @pre is_gemmt(routine) && n > 0   Errors: as submit_clblast
Status run_gemmt(QueueContext& context, const Descriptor& routine, const Argument* arguments);

}  // namespace ob::opencl
