#include "start.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "philox.hpp"

namespace mp2c {
namespace {

using Vector3 = std::array<double, 3>;

// Distances of beads of a chain, and of chains: more than the reach of Lennard-Jones's repulsion.
constexpr double kBeads = 1.1225, kChains = 1.5;

Vector3 random_place(const Parameters& p, std::uint32_t id) {
  const auto xy = uniform_pair(p.seed, Purpose::start, id, 0);
  const auto z = uniform_pair(p.seed, Purpose::start, id, 1);
  return {xy[0] * p.cells[0], xy[1] * p.cells[1], z[0] * p.cells[2]};
}

// Maxwell's distribution by Box and Muller.
Vector3 random_velocity(const Parameters& p, std::uint32_t id) {
  Vector3 velocity{};
  const double width = 1 / std::sqrt(p.mass_of(id));
  for (std::uint32_t pair = 0; pair < 2; ++pair) {
    const auto u = uniform_pair(p.seed, Purpose::start, id, 2 + pair);
    const double radius = width * std::sqrt(-2 * std::log(u[0]));
    const double angle = 2 * std::numbers::pi * u[1];
    velocity[2 * pair] = radius * std::cos(angle);
    if (pair == 0) velocity[1] = radius * std::sin(angle);
  }
  return velocity;
}

Vector3 fluid_velocity(const Parameters& p, std::uint32_t id, double z) {
  Vector3 velocity = random_velocity(p, id);
  velocity[0] += p.shear * std::sin(2 * std::numbers::pi * z / p.cells[2]);
  return velocity;
}

// The velocity of the centre of mass.
Vector3 drift(const Parameters& p) {
  Vector3 momentum{};
  double mass = 0;
  for (std::uint32_t id = 0; id < p.particles(); ++id) {
    const bool fluid = id < p.fluid();
    const Vector3 v =
        fluid ? fluid_velocity(p, id, random_place(p, id)[2]) : random_velocity(p, id);
    const double m = p.mass_of(id);
    for (std::size_t d = 0; d < 3; ++d) momentum[d] += m * v[d];
    mass += m;
  }
  return {momentum[0] / mass, momentum[1] / mass, momentum[2] / mass};
}

Vector3 less(const Vector3& a, const Vector3& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }

// The places of chains: rows along x, on a square grid of rows.
class Sites {
 public:
  explicit Sites(const Parameters& p)
      : pitch_(p.chain_length * kBeads + kChains - kBeads),
        along_(static_cast<std::uint64_t>(p.cells[0] / pitch_)),
        across_(static_cast<std::uint64_t>(p.cells[1] / kChains)),
        all_(along_ * across_ * static_cast<std::uint64_t>(p.cells[2] / kChains)),
        chains_(p.chains()) {
    if (chains_ > all_) {
      throw std::runtime_error("the solutes do not fit in the box (" + std::to_string(chains_) +
                               " chains of " + std::to_string(p.chain_length) +
                               " beads, room for " + std::to_string(all_) +
                               "); give fewer of them (--solutes) or shorter ones "
                               "(--chain-length)");
    }
  }
  Vector3 bead(std::uint32_t chain, int bead) const {
    const std::uint64_t site = chain * all_ / chains_;  // spread evenly
    const std::uint64_t row = site / along_;
    return {static_cast<double>(site % along_) * pitch_ + bead * kBeads,
            static_cast<double>(row % across_) * kChains,
            static_cast<double>(row / across_) * kChains};
  }

 private:
  double pitch_;
  std::uint64_t along_, across_, all_, chains_;
};

}  // namespace

Particles make_fluid(const Parameters& p, const Domain& domain) {
  Particles made;
  const Vector3 common = drift(p);
  for (std::uint32_t id = 0; id < p.fluid(); ++id) {
    const Vector3 place = random_place(p, id);
    if (!domain.owns(place[2], 0)) continue;
    const Vector3 velocity = less(fluid_velocity(p, id, place[2]), common);
    made.append(place.data(), velocity.data(), id);
  }
  return made;
}

Particles make_solutes(const Parameters& p, const Domain& domain) {
  Particles made;
  if (p.solutes() == 0) return made;
  const Sites sites(p);
  const Vector3 common = drift(p);
  for (std::uint32_t k = 0; k < p.solutes(); ++k) {
    const auto length = static_cast<std::uint32_t>(p.chain_length);
    const Vector3 place = sites.bead(k / length, static_cast<int>(k % length));
    if (!domain.owns(place[2], 0)) continue;
    const Vector3 velocity = less(random_velocity(p, p.fluid() + k), common);
    made.append(place.data(), velocity.data(), p.fluid() + k);
  }
  return made;
}

}  // namespace mp2c
