#pragma once
// One call of a function of a plug-in.

#include <span>

#include "base/status.hpp"
#include "outboard/sial.h"
#include "sial/job/job.hpp"
#include "sial/plugin/super_instruction.hpp"

namespace ob::sial {

/// Calls a function of a plug-in. Blocks that are not dense are copied there and back, unless the
/// entry takes strides.
/// Errors: invalid_argument with the plug-in's message; out_of_memory
Status call_plugin(const ob_sial_entry& entry, const Job& job, CallContext& context,
                   std::span<CallArgument> arguments);

}  // namespace ob::sial
