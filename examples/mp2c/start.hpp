// How a simulation begins.
#pragma once

#include "domain.hpp"
#include "parameters.hpp"
#include "particles.hpp"

namespace mp2c {

/// Makes the fluid particles of a domain: at random places, with Maxwell's velocities of kT = 1 and
/// the wave of parameters.shear; the momentum of fluid and solutes together is 0.
/// Cost: twice the particles of the whole box, on every rank, so that all ranks draw the same
Particles make_fluid(const Parameters& parameters, const Domain& domain);

/// Makes the solutes of a domain, sorted by id: straight chains along x, which do not touch.
/// Throws: std::runtime_error if they do not fit in the box
Particles make_solutes(const Parameters& parameters, const Domain& domain);

}  // namespace mp2c
