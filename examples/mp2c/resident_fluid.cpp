#include "resident_fluid.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "stopwatch.hpp"

namespace mp2c {
namespace {

// In a collision step, the border of a domain moves by less than one layer, and particles by h v.
// Two layers of particles are room for both.
std::int64_t halo_records(const Parameters& p, const Domain& domain) {
  if (domain.ranks == 1) return 1;
  return std::int64_t{2} * p.cells[0] * p.cells[1] * p.particles_per_cell + 1000;
}

std::int64_t capacity_of(const Parameters& p, std::int64_t halo, const Particles& start) {
  const auto fluid = static_cast<std::int64_t>(start.size());
  return fluid + fluid / 20 + 3 * std::int64_t{p.solutes()} + 4 * halo;
}

std::int64_t cells_of(const Domain& domain) {
  return std::int64_t{domain.cells[0]} * domain.cells[1] * domain.layers;
}

}  // namespace

ResidentFluid::ResidentFluid(const outboard::Device& device, const Parameters& parameters,
                             const Domain& domain, Neighbours& neighbours, const Particles& start)
    : parameters_(parameters),
      domain_(domain),
      neighbours_(neighbours),
      kernels_(device, parameters),
      queue_(device),
      halo_(halo_records(parameters, domain)),
      now_(device, capacity_of(parameters, halo_, start)),
      next_(device, now_.capacity()),
      area_(device, now_.capacity(), cells_of(domain)),
      leaving_records_(device, 14 * halo_),
      arriving_records_(device, 7 * (2 * halo_ + parameters.solutes())),
      solute_velocity_(device, 3 * std::int64_t{parameters.solutes()} + 1),
      leaving_(device, 2),
      collided_(device),
      fluid_(static_cast<std::uint32_t>(start.size())),
      resident_(fluid_),
      entries_(fluid_) {
  const auto count = static_cast<std::int64_t>(start.size());
  queue_.write(now_.position.part(0, 3 * count), start.position.data());
  queue_.write(now_.velocity.part(0, 3 * count), start.velocity.data());
  queue_.write(now_.id.part(0, count), start.id.data());
  queue_.synchronize();
}

void ResidentFluid::collide(const Collision& collision, Particles& solutes) {
  arriving_.clear();
  if (domain_.ranks > 1) exchange(collision.shift);
  const Stopwatch watch(costs_.device_s);
  const std::uint32_t solutes_at =
      entries_ + static_cast<std::uint32_t>(arriving_.size() / kRecord);
  append_solutes(solutes);
  const Slab slab{resident_, entries_, solutes_at, domain_.first_layer, domain_.layers};
  kernels_.collide(queue_, collision, slab, area_, now_, next_, solute_velocity_);
  kernels_.read_lost(queue_, area_, &lost_);
  const auto numbers = static_cast<std::int64_t>(solutes.velocity.size());
  if (numbers > 0) queue_.read(solutes.velocity.data(), solute_velocity_.part(0, numbers));
  queue_.record(collided_);
  std::swap(now_, next_);
  resident_ = entries_ = fluid_ + static_cast<std::uint32_t>(solutes.size());
  kernels_.stream(queue_, now_, entries_);  // while the host moves the solutes
  queue_.flush();
  collided_.wait();
  costs_.from_device_bytes += sizeof(double) * solutes.velocity.size() + sizeof lost_;
  if (lost_ != 0) {
    finish();  // a failure of the queue explains more
    throw std::runtime_error(std::to_string(lost_) +
                             " particles are not in their domain (they moved over more than one "
                             "domain in a step); take a shorter step or fewer ranks");
  }
}

void ResidentFluid::exchange(const Shift& shift) {
  const Stopwatch watch(costs_.exchange_s);
  kernels_.pack(queue_, domain_, shift, now_, entries_, leaving_records_, leaving_);
  std::uint32_t count[2]{};
  queue_.read(count, leaving_, OB_WAIT);
  const auto most = std::max(count[0], count[1]);
  if (most > halo_) {
    throw std::runtime_error(std::to_string(most) +
                             " particles change their domain in a step, and "
                             "there is room for " +
                             std::to_string(halo_) +
                             " (the fluid moves too fast); take a shorter step");
  }
  const std::vector<double> down = read_records(0, count[0]), up = read_records(1, count[1]);
  finish();
  arriving_ = neighbours_.exchange(down, up);
  const auto arrived = static_cast<std::uint32_t>(arriving_.size() / kRecord);
  fluid_ = fluid_ - count[0] - count[1] + arrived;
  costs_.from_device_bytes += sizeof count;
}

std::vector<double> ResidentFluid::read_records(std::uint32_t way, std::uint32_t count) {
  std::vector<double> records(kRecord * count);
  const auto numbers = static_cast<std::int64_t>(records.size());
  if (count > 0) queue_.read(records.data(), leaving_records_.part(7 * halo_ * way, numbers));
  costs_.from_device_bytes += records.size() * sizeof(double);
  return records;
}

// Arrivals and solutes go in one copy.
void ResidentFluid::append_solutes(const Particles& solutes) {
  for (std::size_t i = 0; i < solutes.size(); ++i) append_record(arriving_, solutes, i);
  const auto numbers = static_cast<std::int64_t>(arriving_.size());
  const auto count = static_cast<std::uint32_t>(arriving_.size() / kRecord);
  if (numbers > arriving_records_.size() || entries_ + count > now_.capacity()) {
    throw std::runtime_error("a domain has too many particles (" + std::to_string(count) +
                             " arrive in a step); the fluid is not even any more: check the "
                             "parameters of the solutes");
  }
  if (count == 0) return;
  queue_.write(arriving_records_.part(0, numbers), arriving_.data());
  kernels_.unpack(queue_, arriving_records_, count, now_, entries_);
  entries_ += count;
  costs_.to_device_bytes += arriving_.size() * sizeof(double);
}

Particles ResidentFluid::fetch() {
  Particles all, fluid;
  all.resize(entries_);
  queue_.read(all.position.data(), now_.position.part(0, 3 * std::int64_t{entries_}));
  queue_.read(all.velocity.data(), now_.velocity.part(0, 3 * std::int64_t{entries_}));
  queue_.read(all.id.data(), now_.id.part(0, entries_));
  finish();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all.id[i] >= parameters_.fluid()) continue;
    fluid.append(&all.position[3 * i], &all.velocity[3 * i], all.id[i]);
  }
  return fluid;
}

void ResidentFluid::finish() {
  costs_.compute_s += static_cast<double>(queue_.synchronize().compute_ns) * 1e-9;
}

}  // namespace mp2c
