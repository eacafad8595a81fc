#pragma once
// The work of a call, for the decision.

#include <cstddef>
#include <cstdint>

#include "policy/model.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"
#include "routines/fft.hpp"

namespace ob::offload {

/// Returns the work of a call, or of `batch` calls that are all as large as this one, on a device
/// with this memory.
/// @pre routine.legal(arguments, their lds)   Threads: any; operands are not touched
policy::Work work_of(const Descriptor& routine, const Argument* arguments, std::size_t batch = 1,
                     std::uint64_t memory_bytes = UINT64_MAX) noexcept;

/// Returns the work of a transform on a device with this memory.
policy::Work work_of(const FftPlan& plan, std::uint64_t memory_bytes) noexcept;

}  // namespace ob::offload
