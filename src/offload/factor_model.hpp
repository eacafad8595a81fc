#pragma once
// The model of several devices that factor one matrix.

#include <cstdint>
#include <vector>

#include "algorithms/exchange/exchange_model.hpp"
#include "algorithms/factor/call.hpp"
#include "client/connection_cache.hpp"
#include "offload/device_model.hpp"
#include "offload/execution.hpp"

namespace ob::offload {

/// Sorts the devices by their own figures, the fastest first. Devices that are about equally fast
/// stay in the order in which servers take turns.
void put_fastest_first(std::vector<client::AcquiredDevice*>& devices);

/// Models the devices and their links, one rank for each device. Devices of one server share its
/// link.
/// @param share a device gives the matrix one part in `share` of its memory
algorithms::ExchangeModel exchange_model(const Execution& execution, Devices devices,
                                         const RoutineCall& call, std::uint64_t share);

/// The time of the call as one routine on one device, where nothing overlaps; 0: unknown.
/// Units: seconds
double seconds_alone(const RoutineCall& call, const algorithms::ExchangeModel& model,
                     const algorithms::RankModel& device);

/// The plan that follows from the memory of the devices and not from measurements.
algorithms::FactorPlan plan_by_memory(const algorithms::FactorShape& shape,
                                      const algorithms::ExchangeModel& model, std::size_t devices);

}  // namespace ob::offload
