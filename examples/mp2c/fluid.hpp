// The fluid, in one of two placements.
#pragma once

#include <cstdint>

#include "collision_kernels.hpp"
#include "particles.hpp"

namespace mp2c {

/// Where the time of collisions goes [s], as the host sees it, and bytes.
struct FluidCosts {
  double sort_s = 0;      ///< the host sorts particles by slabs (travelling only)
  double exchange_s = 0;  ///< particles change their domain
  double device_s = 0;    ///< waits for copies and kernels
  double compute_s = 0;   ///< kernels, on the device's clock
  std::uint64_t to_device_bytes = 0, from_device_bytes = 0;
};

class Fluid {
 public:
  virtual ~Fluid() = default;

  /// Moves particles to the domains of the shifted grid, collides, and streams the fluid.
  /// solutes   those of this domain of the shifted grid; they get new velocities
  /// Throws: std::runtime_error, outboard::Error
  virtual void collide(const Collision& collision, Particles& solutes) = 0;
  /// Waits for all that was handed over.
  virtual void finish() = 0;
  /// Returns the fluid particles of this rank, in no particular order.
  virtual Particles fetch() = 0;
  virtual const FluidCosts& costs() const = 0;
};

}  // namespace mp2c
