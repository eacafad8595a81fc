#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "simulation.hpp"

namespace mp2c {

/// Prints what was measured, and where the time of each rank went.
void print_report(std::FILE* to, const Parameters& parameters,
                  const std::vector<Measurement>& measurements, const std::vector<Costs>& ranks);

/// Writes the same as JSON, with the time of each collision of rank 0.
/// Throws: std::runtime_error if the file cannot be written
void write_json(const std::string& file, const Parameters& parameters, const Simulation& simulation,
                const std::vector<Costs>& ranks);

/// The viscosity that the wave's decay shows, by a fit to the measurements of an amplitude above a
/// fifth of the first; 0 with fewer than three.
double measured_viscosity(const Parameters& parameters,
                          const std::vector<Measurement>& measurements);
/// The viscosity of the fluid without solutes: kinetic and collisional part.
/// Source: Tuezel, Strauss, Ihle, Kroll, PRE 68, 036701 (2003); Gompper et al., arXiv:0808.2157
double predicted_viscosity(const Parameters& parameters);

}  // namespace mp2c
