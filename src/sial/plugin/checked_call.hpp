#pragma once
// Calls of super-instructions that are watched: `--check`.

#include <span>

#include "base/status.hpp"
#include "sial/plugin/super_instruction.hpp"

namespace ob::sial {

/// Calls a function with copies of its w and u blocks that have guard words around them and between
/// their columns, and compares digests of its r blocks. Elements that the function promises to
/// overwrite are NaN before.
/// Errors: those of the function; invalid_argument if it wrote where it must not, left an element
/// that it promised to write, or gets one object twice and may write it
Status checked_call(const KnownFunction& known, CallContext& context,
                    std::span<CallArgument> arguments);

}  // namespace ob::sial
