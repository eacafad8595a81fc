#pragma once
// How long a factorization over several devices takes, and how it is best cut.

#include <cstddef>
#include <cstdint>

#include "algorithms/fabric_model.hpp"

namespace ob::algorithms {

/// What is to be factored.
struct FactorShape {
  enum class Kind : unsigned char { cholesky, lu, qr } kind = Kind::cholesky;
  std::uint64_t m = 0;
  std::uint64_t n = 0;
  std::uint32_t element_bytes = 8;
  bool complex = false;
};

/// Units: s, bytes
struct FactorTimes {
  double seconds = 0;         ///< from the first block sent to the last result at home
  double received_bytes = 0;  ///< by all devices, of panels
};

/// How it is done: on the first so many devices, in blocks of so many columns.
struct FactorPlan {
  std::size_t devices = 1;
  std::uint64_t block = 256;
  double seconds = 0;  ///< expected
};

/// Plays the steps of BlockedFactorization through: when which device has which panel, when it
/// computes, what the links carry.
/// Cost: a few operations per block and device
/// Source: algorithms 2, point 4, with the ways of the links instead of their sum
/// @pre model.known(), devices <= model.ranks.size()
FactorTimes play_factorization(const FactorShape& shape, const FabricModel& model,
                               const FactorPlan& plan);

/// The plan that takes least by the model. More devices only where they gain clearly.
/// @param memory_bytes of the device that has least; 0: no limit. Plans that do not fit are left
/// out; devices = 0 if none does
FactorPlan choose_factor_plan(const FactorShape& shape, const FabricModel& model,
                              std::uint64_t memory_bytes);

/// The best plan for so many devices; devices = 0 if none fits.
FactorPlan choose_block(const FactorShape& shape, const FabricModel& model, std::size_t devices,
                        std::uint64_t memory_bytes);

/// What a plan takes of each device's memory.   Units: bytes
double factor_memory_bytes(const FactorShape& shape, const FactorPlan& plan);

}  // namespace ob::algorithms
