// All particles go to the device and back at each collision, in slabs of layers, so that copies of
// one slab overlap the collision of another.
#pragma once

#include <memory>
#include <vector>

#include "fluid.hpp"
#include "neighbours.hpp"

namespace mp2c {

class TravellingFluid final : public Fluid {
 public:
  TravellingFluid(const outboard::Device& device, const Parameters& parameters,
                  const Domain& domain, Neighbours& neighbours, Particles start);
  ~TravellingFluid() override;

  void collide(const Collision& collision, Particles& solutes) override;
  void finish() override {}
  Particles fetch() override;
  const FluidCosts& costs() const override { return costs_; }

 private:
  // A slab's particles in the host's memory: the fluid, then the solutes.
  struct Part {
    int first_layer = 0, layers = 0;  ///< in the domain
    std::size_t begin = 0, fluid = 0, solutes = 0;
    std::size_t entries() const { return fluid + solutes; }
  };
  // Device memory of a slab on its way. With three of them, one is written, one collides, and one
  // is read. A device whose memory the host maps has one for each slab.
  struct Stage;

  void sort_by_parts(const Shift& shift, const Particles& solutes);
  std::vector<double> leave(const Shift& shift);
  void place_parts(const Shift& shift, const std::vector<double>& arrived,
                   const Particles& solutes);
  void travel(const Collision& collision, Particles& solutes);
  void send(std::size_t number, const Collision& collision);
  void receive(std::size_t number);
  void wait(const outboard::Queue& queue);
  int part_of(int layer) const { return part_of_layer_[static_cast<std::size_t>(layer)]; }
  Stage& stage(std::size_t number) { return *stages_[number % stages_.size()]; }

  const Parameters parameters_;
  const Domain domain_;
  Neighbours& neighbours_;
  const CollisionKernels kernels_;
  const outboard::Queue up_, work_, down_;
  const bool mapped_;  ///< the host maps the device's memory
  std::vector<Part> parts_;
  std::vector<int> part_of_layer_;
  std::int64_t capacity_;  ///< particles of a slab
  SortArea area_;
  std::vector<std::unique_ptr<Stage>> stages_;
  Particles now_, next_;                   ///< with solutes, which are out of date
  std::vector<int> part_of_;               ///< of each particle of now_; -1: none
  std::vector<std::size_t> solute_order_;  ///< entry of each solute among all parts' solutes
  std::vector<double> solute_velocity_;    ///< of all parts, one part after another
  std::vector<std::uint32_t> lost_;        ///< of each part
  FluidCosts costs_;
};

}  // namespace mp2c
