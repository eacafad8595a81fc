// What a simulation is judged by.
#pragma once

#include <array>
#include <cstdint>

#include "domain.hpp"
#include "parameters.hpp"
#include "particles.hpp"

namespace mp2c {

/// Sums over all particles of all ranks.
struct Measurement {
  double time = 0;
  std::array<double, 3> momentum{};  ///< fluid and solutes
  double fluid_kinetic = 0, solute_kinetic = 0, solute_potential = 0;
  double temperature = 0;  ///< of fluid and solutes: 2/3 of the kinetic energy of a particle
  double wave = 0;         ///< amplitude of v_x ~ sin(2 pi z / L_z)
  std::uint64_t particles = 0;
  /// A checksum of the bits of all particles. It is the same for any number of ranks.
  std::uint64_t digest = 0;
};

/// Collective: all ranks call it, and get the same result.
Measurement measure(const Parameters& parameters, double time, const Particles& fluid,
                    const Particles& solutes, double solute_potential);

}  // namespace mp2c
