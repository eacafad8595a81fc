// The parameters of a simulation. Units: the edge of a cell, the mass of a fluid particle, and kT
// are 1.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace mp2c {

enum class Placement {
  travelling,  ///< all particles go to the device and back at each collision
  resident     ///< fluid particles stay on the device
};

struct Parameters {
  std::array<int, 3> cells{32, 32, 32};
  int particles_per_cell = 10;
  int steps = 300;
  int collide_every = 5;
  double md_step = 0.02;
  double angle_degrees = 130;
  bool thermostat = false;
  std::uint64_t seed = 1;
  double shear = 0;  ///< amplitude of an initial wave v_x(z)

  double solute_fraction = 0.01;
  int chain_length = 10;
  double solute_mass = 10;
  double cutoff = 1.122462048309373;  ///< of Lennard-Jones; 2^(1/6): repulsive only
  double spring = 100;

  Placement placement = Placement::resident;
  int slabs = 8;  ///< parts in which particles travel
  std::vector<std::string> devices{"local:cpu"};
  int measure_every = 0;  ///< collisions between measurements; 0: at the beginning and the end
  std::string json_file;
  bool progress = false;

  double streaming_step() const { return md_step * collide_every; }
  int collisions() const { return steps / collide_every; }
  std::uint64_t all_cells() const {
    return static_cast<std::uint64_t>(cells[0]) * static_cast<std::uint64_t>(cells[1]) *
           static_cast<std::uint64_t>(cells[2]);
  }
  std::uint32_t particles() const {
    return static_cast<std::uint32_t>(all_cells() * static_cast<std::uint64_t>(particles_per_cell));
  }
  std::uint32_t chains() const {
    return static_cast<std::uint32_t>(particles() * solute_fraction / chain_length);
  }
  std::uint32_t solutes() const { return chains() * static_cast<std::uint32_t>(chain_length); }
  /// Ids below are fluid particles, the others are solutes.
  std::uint32_t fluid() const { return particles() - solutes(); }
  double mass_of(std::uint32_t id) const { return id < fluid() ? 1.0 : solute_mass; }
};

}  // namespace mp2c
