#include "simulation.hpp"

#include "philox.hpp"
#include "resident_fluid.hpp"
#include "start.hpp"
#include "stopwatch.hpp"
#include "travelling_fluid.hpp"

namespace mp2c {
namespace {

std::unique_ptr<Fluid> make_placed(const Parameters& p, const outboard::Device& device,
                                   const Domain& domain, Neighbours& neighbours) {
  Particles start = make_fluid(p, domain);
  if (p.placement == Placement::resident) {
    return std::make_unique<ResidentFluid>(device, p, domain, neighbours, start);
  }
  return std::make_unique<TravellingFluid>(device, p, domain, neighbours, std::move(start));
}

}  // namespace

Shift random_shift(const Parameters& parameters, std::uint32_t collision) {
  const auto xy = uniform_pair(parameters.seed, Purpose::shift, collision, 0);
  const auto z = uniform_pair(parameters.seed, Purpose::shift, collision, 1);
  return {xy[0], xy[1], z[0]};
}

Simulation::Simulation(const Parameters& parameters, const outboard::Device& device,
                       Neighbours& neighbours)
    : parameters_(parameters),
      neighbours_(neighbours),
      domain_(parameters.cells, neighbours.rank(), neighbours.ranks()),
      solutes_(parameters, domain_, neighbours, make_solutes(parameters, domain_)) {
  const Stopwatch watch(costs_.start_s);
  fluid_ = make_placed(parameters, device, domain_, neighbours);
}

void Simulation::run(const std::function<void(int)>& done) {
  measure_now(0);
  for (int number = 1; number <= parameters_.collisions(); ++number) {
    collide(number);
    if (done) done(number);
    const int every = parameters_.measure_every;
    if (number == parameters_.collisions() || (every > 0 && number % every == 0)) {
      measure_now(number);
    }
  }
}

void Simulation::collide(int number) {
  const Stopwatch watch(costs_.steps_s), lap(collision_seconds_.emplace_back(0));
  Collision collision;
  collision.number = static_cast<std::uint32_t>(number);
  collision.shift = random_shift(parameters_, collision.number);
  {
    const Stopwatch dynamics(costs_.solutes_s);
    solutes_.advance(parameters_.collide_every);
    solutes_.migrate(collision.shift);
  }
  fluid_->collide(collision, solutes_.particles());
}

void Simulation::measure_now(int collisions) {
  {
    const Stopwatch watch(costs_.steps_s);  // what the device has still to do belongs to the steps
    fluid_->finish();
  }
  measurements_.push_back(measure(parameters_, collisions * parameters_.streaming_step(),
                                  fluid_->fetch(), solutes_.particles(), solutes_.potential()));
}

Costs Simulation::costs() {
  costs_.fluid = fluid_->costs();
  costs_.between_ranks_bytes = neighbours_.sent_bytes();
  return costs_;
}

}  // namespace mp2c
