#include "report.hpp"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numbers>
#include <stdexcept>

namespace mp2c {
namespace {

using nlohmann::json;

json as_json(const Measurement& m) {
  return {{"time", m.time},
          {"momentum", m.momentum},
          {"fluid_kinetic", m.fluid_kinetic},
          {"solute_kinetic", m.solute_kinetic},
          {"solute_potential", m.solute_potential},
          {"temperature", m.temperature},
          {"wave", m.wave},
          {"particles", m.particles},
          {"digest", m.digest}};
}

json as_json(const Costs& costs) {
  const FluidCosts& fluid = costs.fluid;
  return {{"start_s", costs.start_s},
          {"steps_s", costs.steps_s},
          {"solutes_s", costs.solutes_s},
          {"sort_s", fluid.sort_s},
          {"exchange_s", fluid.exchange_s},
          {"device_s", fluid.device_s},
          {"compute_s", fluid.compute_s},
          {"to_device_bytes", fluid.to_device_bytes},
          {"from_device_bytes", fluid.from_device_bytes},
          {"between_ranks_bytes", costs.between_ranks_bytes}};
}

json as_json(const Parameters& p) {
  return {{"cells", p.cells},
          {"particles", p.particles()},
          {"solutes", p.solutes()},
          {"per_cell", p.particles_per_cell},
          {"steps", p.steps},
          {"collisions", p.collisions()},
          {"streaming_step", p.streaming_step()},
          {"angle", p.angle_degrees},
          {"thermostat", p.thermostat},
          {"seed", p.seed},
          {"shear", p.shear},
          {"placement", p.placement == Placement::resident ? "resident" : "travelling"},
          {"slabs", p.slabs},
          {"devices", p.devices}};
}

double wave_number(const Parameters& p) { return 2 * std::numbers::pi / p.cells[2]; }

void print_costs(std::FILE* to, const std::vector<Costs>& ranks) {
  std::fprintf(to, "\n  %-5s %9s %9s %9s %9s %9s %9s %9s %11s %11s %11s\n", "rank", "start",
               "steps", "solutes", "sort", "exchange", "device", "kernels", "to device", "from it",
               "to ranks");
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const Costs& c = ranks[r];
    const FluidCosts& f = c.fluid;
    std::fprintf(to, "  %-5zu %7.3f s %7.3f s %7.3f s %7.3f s %7.3f s %7.3f s %7.3f s", r,
                 c.start_s, c.steps_s, c.solutes_s, f.sort_s, f.exchange_s, f.device_s,
                 f.compute_s);
    for (const std::uint64_t bytes :
         {f.to_device_bytes, f.from_device_bytes, c.between_ranks_bytes}) {
      std::fprintf(to, " %8.1f MB", static_cast<double>(bytes) * 1e-6);
    }
    std::fprintf(to, "\n");
  }
}

}  // namespace

double measured_viscosity(const Parameters& p, const std::vector<Measurement>& measurements) {
  double n = 0, t = 0, y = 0, tt = 0, ty = 0;
  for (const Measurement& m : measurements) {
    const double part = m.wave / measurements.front().wave;
    if (!(part > 0.2)) break;
    n += 1;
    t += m.time;
    y += std::log(part);
    tt += m.time * m.time;
    ty += m.time * std::log(part);
  }
  const double k = wave_number(p);
  return n < 3 ? 0 : -(n * ty - t * y) / (n * tt - t * t) / (k * k);
}

double predicted_viscosity(const Parameters& p) {
  const double m = p.particles_per_cell, h = p.streaming_step();
  const double alpha = p.angle_degrees * std::numbers::pi / 180;
  const double fluctuating = m - 1 + std::exp(-m);  // particles beyond one per cell, on average
  const double kinetic =
      h / 2 * (5 * m / (fluctuating * (2 - std::cos(alpha) - std::cos(2 * alpha))) - 1);
  const double collisional = fluctuating / m * (1 - std::cos(alpha)) / (18 * h);
  return kinetic + collisional;
}

void print_report(std::FILE* to, const Parameters& p, const std::vector<Measurement>& measurements,
                  const std::vector<Costs>& ranks) {
  const Measurement &first = measurements.front(), &last = measurements.back();
  const auto energy = [](const Measurement& m) {
    return m.fluid_kinetic + m.solute_kinetic + m.solute_potential;
  };
  std::fprintf(to, "%u particles (%u of them solutes), %d collisions\n", p.particles(), p.solutes(),
               p.collisions());
  std::fprintf(to, "  temperature  %.6f, at first %.6f\n", last.temperature, first.temperature);
  std::fprintf(to, "  energy       %.9g, at first %.9g\n", energy(last), energy(first));
  std::fprintf(to, "  momentum     %.2g %.2g %.2g\n", last.momentum[0], last.momentum[1],
               last.momentum[2]);
  std::fprintf(to, "  digest       %016llx\n", static_cast<unsigned long long>(last.digest));
  if (p.shear != 0) {
    std::fprintf(to, "  viscosity    %.4f, predicted %.4f\n", measured_viscosity(p, measurements),
                 predicted_viscosity(p));
  }
  print_costs(to, ranks);
}

void write_json(const std::string& file, const Parameters& p, const Simulation& simulation,
                const std::vector<Costs>& ranks) {
  const auto& measurements = simulation.measurements();
  json all;
  all["parameters"] = as_json(p);
  for (const Measurement& m : measurements) all["measurements"].push_back(as_json(m));
  for (const Costs& c : ranks) all["ranks"].push_back(as_json(c));
  all["collision_seconds"] = simulation.collision_seconds();
  if (p.shear != 0) {
    all["viscosity"] = {{"measured", measured_viscosity(p, measurements)},
                        {"predicted", predicted_viscosity(p)}};
  }
  std::ofstream stream(file);
  stream << all.dump(1) << '\n';
  stream.close();
  if (!stream) {
    throw std::runtime_error("the file '" + file +
                             "' cannot be written; check --json and the disk's space");
  }
}

}  // namespace mp2c
