#pragma once
// Factorizations of the program on several devices, and of matrices larger than a device.

#include <cstdint>
#include <optional>

#include "algorithms/call_timings.hpp"
#include "base/status.hpp"
#include "client/connection_cache.hpp"
#include "offload/state.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::offload {

/// True if a device of so much memory has room for the call as one routine.
/// @pre algorithms::can_be_factored(routine), as for all below
bool fits_to_factor(const Descriptor& routine, const Argument* arguments,
                    std::uint64_t memory_bytes) noexcept;
/// What blocks of the matrix may take of it.   Units: bytes
std::uint64_t memory_to_factor(std::uint64_t memory_bytes) noexcept;

/// As run_on_several(), and slab after slab where the memory of the devices does not suffice, be it
/// of one. Panels go from device to device where they can reach each other and that gains, else
/// through this process. A device that fails ends the attempt; nothing of the program's has changed
/// then.
std::optional<Status> factor_on_several(State& state, client::AcquiredDevice& first,
                                        const Descriptor& routine, const Argument* arguments,
                                        algorithms::CallTimings& timings);

/// Runs a call slab after slab that did not find the memory on the acquired device which it should
/// have had: with a part of it.   Errors: those of offload()
Status factor_with_little(State& state, client::AcquiredDevice& acquired, const Descriptor& routine,
                          const Argument* arguments, algorithms::CallTimings& timings);

}  // namespace ob::offload
