#include "measure.hpp"

#include <mpi.h>

#include <bit>
#include <cmath>
#include <numbers>

namespace mp2c {
namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15;
  return hash ^ (hash >> 29);
}

std::uint64_t digest_of(const Particles& particles, std::size_t i) {
  std::uint64_t hash = mixed(1, particles.id[i]);
  for (std::size_t d = 0; d < 3; ++d) {
    hash = mixed(hash, std::bit_cast<std::uint64_t>(particles.position[3 * i + d]));
    hash = mixed(hash, std::bit_cast<std::uint64_t>(particles.velocity[3 * i + d]));
  }
  return hash;
}

struct Sums {
  // momentum, kinetic energies of fluid and solutes, potential, wave
  std::array<double, 7> number{};
  std::array<std::uint64_t, 2> count{};  // particles, digest

  void add(const Parameters& p, const Particles& particles) {
    const double wave_number = 2 * std::numbers::pi / p.cells[2];
    for (std::size_t i = 0; i < particles.size(); ++i) {
      const double m = p.mass_of(particles.id[i]);
      const bool fluid = particles.id[i] < p.fluid();
      for (std::size_t d = 0; d < 3; ++d) {
        const double v = particles.velocity[3 * i + d];
        number[d] += m * v;
        number[fluid ? 3 : 4] += 0.5 * m * v * v;
      }
      if (fluid) {
        number[6] +=
            particles.velocity[3 * i] * std::sin(wave_number * particles.position[3 * i + 2]);
      }
      count[1] += digest_of(particles, i);
    }
    count[0] += particles.size();
  }
};

}  // namespace

Measurement measure(const Parameters& p, double time, const Particles& fluid,
                    const Particles& solutes, double solute_potential) {
  Sums sums;
  sums.add(p, fluid);
  sums.add(p, solutes);
  sums.number[5] = solute_potential;
  MPI_Allreduce(MPI_IN_PLACE, sums.number.data(), static_cast<int>(sums.number.size()), MPI_DOUBLE,
                MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, sums.count.data(), 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  Measurement made;
  made.time = time;
  made.momentum = {sums.number[0], sums.number[1], sums.number[2]};
  made.fluid_kinetic = sums.number[3];
  made.solute_kinetic = sums.number[4];
  made.solute_potential = sums.number[5];
  made.particles = sums.count[0];
  made.temperature =
      2 * (sums.number[3] + sums.number[4]) / (3 * static_cast<double>(p.particles()));
  made.wave = 2 * sums.number[6] / p.fluid();
  made.digest = sums.count[1];
  return made;
}

}  // namespace mp2c
