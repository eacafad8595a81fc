// The kernels of kernels/*.cl, and the device memory on which they work.
#pragma once

#include <outboard/device.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "domain.hpp"
#include "parameters.hpp"

namespace mp2c {

extern const char* const kKernelText;
/// The macros that the kernels need.
std::string kernel_options();

/// Particles in the memory of a device.
struct DeviceParticles {
  outboard::Vector<double> position, velocity;
  outboard::Vector<std::uint32_t> id;

  DeviceParticles(const outboard::Device& device, std::int64_t capacity)
      : position(device, 3 * capacity), velocity(device, 3 * capacity), id(device, capacity) {}
  std::int64_t capacity() const { return id.size(); }
};

/// The particles and layers that a collision is about.
struct Slab {
  std::uint32_t resident = 0;  ///< leading entries that are a collision's result
  std::uint32_t entries = 0;   ///< all entries
  std::uint32_t solutes_at = 0;
  int first_layer = 0, layers = 0;
};

/// A collision of all cells.
struct Collision {
  std::uint32_t number = 0;
  Shift shift{};
};

/// Memory for the sort of a slab's particles.
class SortArea {
 public:
  SortArea(const outboard::Device& device, std::int64_t entries, std::int64_t cells);

 private:
  friend class CollisionKernels;
  outboard::Vector<std::uint32_t> begin_, cell_of_, number_, order_, lost_;
  std::vector<outboard::Vector<std::uint32_t>> sums_;  ///< of the parts, at each level of the scan
};

class CollisionKernels {
 public:
  CollisionKernels(const outboard::Device& device, const Parameters& parameters);

  /// Hands over the sort and the collision of a slab's cells, without streaming.
  /// to               the particles, sorted by cells and ids
  /// solute_velocity  velocities of the solutes from entry slab.solutes_at on
  void collide(const outboard::Queue& queue, const Collision& collision, const Slab& slab,
               SortArea& area, const DeviceParticles& from, const DeviceParticles& to,
               const outboard::Vector<double>& solute_velocity) const;
  void stream(const outboard::Queue& queue, const DeviceParticles& particles,
              std::uint32_t entries) const;
  /// Moves fluid particles of other domains to records; `leaving` counts those that go down and up.
  void pack(const outboard::Queue& queue, const Domain& domain, const Shift& shift,
            const DeviceParticles& particles, std::uint32_t entries,
            const outboard::Vector<double>& records,
            const outboard::Vector<std::uint32_t>& leaving) const;
  void unpack(const outboard::Queue& queue, const outboard::Vector<double>& records,
              std::uint32_t count, const DeviceParticles& to, std::uint32_t at) const;
  /// Reads how many particles the last collision found in no cell of its slab.
  void read_lost(const outboard::Queue& queue, const SortArea& area, std::uint32_t* lost) const {
    queue.read(lost, area.lost_);
  }

 private:
  template <class T>
  using In = outboard::In<T>;
  template <class T>
  using Out = outboard::Out<T>;
  template <class T>
  using InOut = outboard::InOut<T>;
  using U = std::uint32_t;
  using I = std::int32_t;
  using D = double;

  void scan(const outboard::Queue& queue, SortArea& area, std::uint32_t elements) const;

  const Parameters parameters_;
  outboard::Module module_;
  outboard::Kernel<In<D>, In<U>, U, U, U, D, D, D, I, I, I, I, I, InOut<U>, Out<U>, Out<U>,
                   InOut<U>>
      count_cells_;
  outboard::Kernel<InOut<U>, Out<U>, U> scan_parts_;
  outboard::Kernel<InOut<U>, In<U>, U> add_sums_;
  outboard::Kernel<In<U>, In<U>, In<U>, U, Out<U>> sort_entries_;
  outboard::Kernel<In<U>, InOut<U>, U, U, In<D>, In<D>, In<U>, Out<D>, Out<D>, Out<U>, Out<D>, U, U,
                   D, D, D, D, std::uint64_t, U>
      collide_;
  outboard::Kernel<InOut<D>, In<D>, In<U>, U, U, D, D, D, D> stream_;
  outboard::Kernel<In<D>, In<D>, InOut<U>, U, U, D, I, I, I, Out<D>, U, InOut<U>> pack_;
  outboard::Kernel<In<D>, U, U, Out<D>, Out<D>, Out<U>> unpack_;
};

}  // namespace mp2c
