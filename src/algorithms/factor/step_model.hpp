#pragma once
// The predicted time of a factorization over several devices, and the best plan for it.

#include <cstddef>
#include <cstdint>

#include "algorithms/exchange/exchange_model.hpp"
#include "algorithms/factor/plan.hpp"

namespace ob::algorithms {

/// Units: s, bytes
struct FactorTimes {
  double seconds = 0;         ///< from the first block sent to the last result on the host
  double received_bytes = 0;  ///< panels of other devices, received by all devices
  double reloaded_bytes = 0;  ///< panels of earlier slabs, reloaded by all devices
};

/// Simulates the steps of BlockedFactorization: the times at which each device has each panel, when
/// it computes, and the load of the links.
/// Cost: a few operations per block and device
/// Source: algorithms 2, point 4, with each link simulated instead of their sum
/// @pre model.known(), devices <= model.ranks.size(), distribute_columns(shape, model.ranks, plan)
FactorTimes simulate_factorization(const FactorShape& shape, const ExchangeModel& model,
                                   const FactorPlan& plan);

/// The fastest plan by the model, in the memory of the devices. It uses more devices only if they
/// gain clearly. devices = 0 if nothing fits.
/// @param alone_s the time if one device runs the call in one piece, without blocks; 0: one device
///        works in blocks, too   Units: s
FactorPlan choose_factor_plan(const FactorShape& shape, const ExchangeModel& model,
                              double alone_s = 0);

/// Returns the fastest plan for this number of devices; devices = 0 if none fits.
FactorPlan choose_block(const FactorShape& shape, const ExchangeModel& model, std::size_t devices);

}  // namespace ob::algorithms
