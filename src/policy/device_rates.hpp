#pragma once
// The rate of a device for a routine, from what its daemon measured.

#include <span>

#include "base/routine_rate.hpp"
#include "policy/rate_model.hpp"

namespace ob::policy {

/// Returns the rate of the family's measured routine for so much work. Between two measured sizes
/// it is interpolated by the order of the matrix (the cube root of the work), below them it falls
/// with that order, above them it is that of the largest. {0, 1} if the family was not measured.
/// Units: flop/s   Threads: any
Rate measured_rate(std::span<const RoutineRate> measured, RateFamily family, double flop) noexcept;

}  // namespace ob::policy
