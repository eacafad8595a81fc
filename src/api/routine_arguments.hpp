#pragma once
// The arguments of routines that are not operands in memory.

#include <cstddef>

#include "api/outcome.hpp"
#include "outboard/device.h"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::api {

/// Finds a routine that takes so many operands.
/// Errors: unsupported if the table has none; invalid_argument for another number
Outcome find_routine(const char* name, std::size_t count, const Descriptor*& routine);
/// Sets a flag, a dimension or a scalar.   Errors: invalid_argument for a complex one without place
/// @pre !is_memory(routine.kinds[position])
Outcome set_plain_argument(const ob_operand& operand, std::size_t position,
                           const Descriptor& routine, Argument& argument);

}  // namespace ob::api
