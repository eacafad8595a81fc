#pragma once
// Checks that a device has the memory for a factorization.

#include <cstdint>

#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::offload {

/// True if a device with `memory_bytes` has room for the call as one routine. 0 means enough
/// memory.
/// @pre algorithms::can_be_factored(routine)
bool fits_to_factor(const Descriptor& routine, const Argument* arguments,
                    std::uint64_t memory_bytes) noexcept;

/// The part of a device's memory that blocks of the matrix may take.   Units: bytes
std::uint64_t memory_to_factor(std::uint64_t memory_bytes) noexcept;

}  // namespace ob::offload
