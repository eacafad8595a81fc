#include "command_line.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <map>
#include <sstream>

namespace mp2c {
namespace {

constexpr const char* kAbout =
    "Molecular dynamics of chains in a fluid of particles (multi-particle collision dynamics). The "
    "collisions run on a device of Outboard, the chains move on the host.";

constexpr const char* kExamples = R"(Examples:
  mp2c                                        32 x 32 x 32 cells on this processor
  mp2c --device node7:7770 --cells 80 80 80   5,120,000 particles on a device across the network
  mpirun -n 2 mp2c --device a:7770,b:7770     two ranks, a device for each
  mp2c --placement travelling --slabs 16      all particles travel at each collision
  mp2c --shear 0.4 --solutes 0 --cells 20 20 20 --measure 5 --json wave.json
                                              the decay of a wave, as numbers

Devices: HOST:PORT, unix:PATH, local:cpu, local:cuda, local:opencl (docs/device-api.md).
Units: the edge of a cell, the mass of a fluid particle, and kT are 1.)";

void add_physics(CLI::App& app, Parameters& p) {
  app.add_option("--cells", p.cells, "cells along x, y and z")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  app.add_option("--per-cell", p.particles_per_cell, "particles per cell")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app.add_option("--steps", p.steps, "steps of molecular dynamics")
      ->check(CLI::Range(1, 1000000000))
      ->capture_default_str();
  app.add_option("--collide-every", p.collide_every, "steps between collisions")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--md-step", p.md_step, "time of a step")
      ->check(CLI::Range(1e-6, 1.0))
      ->capture_default_str();
  app.add_option("--angle", p.angle_degrees, "angle of rotations [degrees]")
      ->check(CLI::Range(1.0, 179.0))
      ->capture_default_str();
  app.add_flag("--thermostat", p.thermostat, "draw the energy of each cell's relative motion");
  app.add_option("--seed", p.seed, "of all random numbers")->capture_default_str();
  app.add_option("--shear", p.shear, "amplitude of an initial wave of v_x along z")
      ->check(CLI::Range(-10.0, 10.0))
      ->capture_default_str();
}

void add_solutes(CLI::App& app, Parameters& p) {
  app.add_option("--solutes", p.solute_fraction, "part of the particles that are beads of chains")
      ->check(CLI::Range(0.0, 0.1))
      ->capture_default_str();
  app.add_option("--chain-length", p.chain_length, "beads of a chain")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--solute-mass", p.solute_mass, "mass of a bead")
      ->check(CLI::Range(0.1, 1000.0))
      ->capture_default_str();
  app.add_option("--cutoff", p.cutoff, "of Lennard-Jones forces; 2.5 adds their attraction")
      ->check(CLI::Range(1.0, 5.0))
      ->capture_default_str();
  app.add_option("--spring", p.spring, "constant of the springs")
      ->check(CLI::Range(0.0, 10000.0))
      ->capture_default_str();
}

void add_run(CLI::App& app, Parameters& p) {
  static const std::map<std::string, Placement> placements{{"resident", Placement::resident},
                                                           {"travelling", Placement::travelling}};
  app.add_option("--device", p.devices, "one for each rank, used in turns")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--placement", p.placement,
                 "resident: the fluid stays on the device; travelling: all particles go there and "
                 "back at each collision")
      ->transform(CLI::CheckedTransformer(placements))
      ->default_str("resident");
  app.add_option("--slabs", p.slabs, "parts in which particles travel")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--measure", p.measure_every,
                 "collisions between measurements; 0: only at the beginning and the end")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  app.add_option("--json", p.json_file, "file for measurements and times");
  app.add_flag("--progress", p.progress, "print a line every second");
}

// Numbers of cells and particles are 32 bits wide in the kernels.
std::string problem_with(const Parameters& p) {
  if (p.all_cells() * static_cast<std::uint64_t>(p.particles_per_cell) > 0x7FFFFFFF) {
    return "there are too many particles (2^31 or more); take fewer cells";
  }
  if (p.steps < p.collide_every) {
    return "there is no collision (--steps is below --collide-every); take more steps";
  }
  return {};
}

}  // namespace

std::optional<Parameters> read_command_line(int count, char** arguments, bool speaks,
                                            int& exit_code) {
  Parameters p;
  CLI::App app(kAbout, "mp2c");
  app.footer(kExamples);
  add_physics(app, p);
  add_solutes(app, p);
  add_run(app, p);
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    std::ostringstream silence;
    exit_code = app.exit(error, speaks ? std::cout : silence, speaks ? std::cerr : silence);
    return std::nullopt;
  }
  const std::string problem = problem_with(p);
  if (problem.empty()) return p;
  if (speaks) std::cerr << "mp2c: " << problem << '\n';
  exit_code = 2;
  return std::nullopt;
}

}  // namespace mp2c
