#pragma once
// One call of a function of a plug-in.

#include <cstdint>
#include <functional>
#include <span>

#include "base/status.hpp"
#include "outboard/sial.h"
#include "sial/job/job.hpp"
#include "sial/plugin/super_instruction.hpp"

namespace ob::sial {

/// A function of a plug-in. The interpreter of one in Python needs more than a C function pointer.
struct PluginFunction {
  std::uint32_t flags = 0;  ///< of ob_sial_entry
  std::function<int(ob_sial_call*, ob_sial_argument*, std::int32_t)> function;
};

/// Takes a function of a plug-in: name, intents, function.
using AddFunction = std::function<void(const char*, const char*, PluginFunction)>;

/// Calls a function of a plug-in. Blocks that are not dense are copied there and back, unless the
/// entry takes strides.
/// Errors: invalid_argument with the plug-in's message; out_of_memory
Status call_plugin(const PluginFunction& plugin, const Job& job, CallContext& context,
                   std::span<CallArgument> arguments);

}  // namespace ob::sial
