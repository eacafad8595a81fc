// A simulation: molecular dynamics of the solutes, and a collision of all particles after some
// steps of it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "fluid.hpp"
#include "measure.hpp"
#include "neighbours.hpp"
#include "solutes.hpp"

namespace mp2c {

/// What a run took on this rank.
struct Costs {
  double start_s = 0;    ///< initial state, device memory, kernels
  double solutes_s = 0;  ///< molecular dynamics
  double steps_s = 0;    ///< all steps, without measurements
  FluidCosts fluid;
  std::uint64_t between_ranks_bytes = 0;
};

class Simulation {
 public:
  /// @param device  of this rank
  Simulation(const Parameters& parameters, const outboard::Device& device, Neighbours& neighbours);

  /// Runs all steps, and measures at the beginning, at the end, and in between if asked to.
  /// @param done  called after each collision with its number, from 1
  void run(const std::function<void(int)>& done = {});

  const std::vector<Measurement>& measurements() const { return measurements_; }
  /// The time of each collision and of the steps before it, without measurements.
  const std::vector<double>& collision_seconds() const { return collision_seconds_; }
  Costs costs();
  Fluid& fluid() { return *fluid_; }
  Solutes& solutes() { return solutes_; }
  const Domain& domain() const { return domain_; }

 private:
  void collide(int number);
  void measure_now(int collisions);

  const Parameters parameters_;
  Neighbours& neighbours_;
  const Domain domain_;
  Costs costs_;
  Solutes solutes_;
  std::unique_ptr<Fluid> fluid_;
  std::vector<Measurement> measurements_;
  std::vector<double> collision_seconds_;
};

/// The shift of the grid for a collision, which depends on the seed and its number alone.
Shift random_shift(const Parameters& parameters, std::uint32_t collision);

}  // namespace mp2c
