// One collision on the host, by plain code that shares nothing with the kernels: cells are a map,
// rotations are matrices, and sums and functions are those of the standard library.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "domain.hpp"
#include "parameters.hpp"
#include "particles.hpp"

namespace oracle {

using Words = std::array<std::uint32_t, 4>;
using Vector3 = std::array<double, 3>;

/// Returns the words of Philox4x32-10 for a counter and a key, with round keys made in advance.
/// Source: Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3, SC 2011
Words philox(const Words& counter, const std::array<std::uint32_t, 2>& key);

struct State {
  Vector3 position{}, velocity{};
};
/// Particles by their ids.
using Particles = std::map<std::uint32_t, State>;

void add(Particles& to, const mp2c::Particles& from);

/// Collides all particles of the box, and moves the fluid by one streaming step.
void collide(Particles& particles, const mp2c::Parameters& parameters, std::uint32_t number,
             const mp2c::Shift& shift);

}  // namespace oracle
