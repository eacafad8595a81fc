#pragma once
// Measurement of a device's rates beyond matrix products.

#include <vector>

#include "base/routine_rate.hpp"
#include "device/device.hpp"

namespace ob {

/// Measures the routines of measured_routines() and a transform, with matrices of growing order
/// until a call takes some milliseconds. What fails is left out.
/// @return at most kMaxRoutineRates, ordered by family and work
/// Cost: some 100 ms, and the start of the device's libraries, which may compile for seconds
std::vector<RoutineRate> measure_rates(Device& device);

}  // namespace ob
