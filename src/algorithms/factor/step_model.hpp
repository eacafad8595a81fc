#pragma once
// How long a factorization over several devices takes, and how it is best cut.

#include <cstddef>
#include <cstdint>

#include "algorithms/exchange/exchange_model.hpp"
#include "algorithms/factor/plan.hpp"

namespace ob::algorithms {

/// Units: s, bytes
struct FactorTimes {
  double seconds = 0;         ///< from the first block sent to the last result at home
  double received_bytes = 0;  ///< by all devices, of panels of others
  double reloaded_bytes = 0;  ///< to all devices, of panels of earlier slabs
};

/// Plays the steps of BlockedFactorization through: when which device has which panel, when it
/// computes, what the links carry.
/// Cost: a few operations per block and device
/// Source: algorithms 2, point 4, with the ways of the links instead of their sum
/// @pre model.known(), devices <= model.ranks.size(), distribute_columns() deals such a plan
FactorTimes simulate_factorization(const FactorShape& shape, const ExchangeModel& model,
                                   const FactorPlan& plan);

/// The plan that takes least by the model, in the memory that devices have. More devices only where
/// they gain clearly; devices = 0 if nothing fits.
/// @param alone_s what the call takes that one device does as a whole, without blocks; 0: one
/// device works in blocks, too   Units: s
FactorPlan choose_factor_plan(const FactorShape& shape, const ExchangeModel& model,
                              double alone_s = 0);

/// The best plan for so many devices; devices = 0 if none fits.
FactorPlan choose_block(const FactorShape& shape, const ExchangeModel& model, std::size_t devices);

}  // namespace ob::algorithms
