// Fluid particles stay on the device. Those that change their domain, and the solutes, travel.
#pragma once

#include "fluid.hpp"
#include "neighbours.hpp"

namespace mp2c {

class ResidentFluid final : public Fluid {
 public:
  ResidentFluid(const outboard::Device& device, const Parameters& parameters, const Domain& domain,
                Neighbours& neighbours, const Particles& start);

  void collide(const Collision& collision, Particles& solutes) override;
  void finish() override;
  Particles fetch() override;
  const FluidCosts& costs() const override { return costs_; }

 private:
  void exchange(const Shift& shift);
  void append_solutes(const Particles& solutes);
  std::vector<double> read_records(std::uint32_t way, std::uint32_t count);

  const Parameters parameters_;
  const Domain domain_;
  Neighbours& neighbours_;
  const CollisionKernels kernels_;
  const outboard::Queue queue_;
  const std::int64_t halo_;  ///< records of particles that change their domain, each way
  DeviceParticles now_, next_;
  SortArea area_;
  outboard::Vector<double> leaving_records_, arriving_records_, solute_velocity_;
  outboard::Vector<std::uint32_t> leaving_;
  outboard::Event collided_;
  std::vector<double> arriving_;  ///< what the device is to get; lives until the queue has it
  std::uint32_t lost_ = 0;
  std::uint32_t fluid_ = 0;  ///< fluid particles of this rank
  std::uint32_t resident_ = 0, entries_ = 0;
  FluidCosts costs_;
};

}  // namespace mp2c
