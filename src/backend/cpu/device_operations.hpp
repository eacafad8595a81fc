#pragma once
// The operations of devices that no library has (routines/block.toml), on the processor.

#include "backend/cpu/thunk.hpp"
#include "routines/descriptor.hpp"

namespace ob::cpu {

/// Returns the function that computes an operation, which ignores the function that it gets.
/// @pre the row is one of routines::device_operations()
Thunk operation(const Descriptor& routine) noexcept;

}  // namespace ob::cpu
