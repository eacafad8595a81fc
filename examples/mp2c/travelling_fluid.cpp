#include "travelling_fluid.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "stopwatch.hpp"

namespace mp2c {

struct TravellingFluid::Stage {
  DeviceParticles in, out;
  outboard::Vector<double> solute_velocity;
  outboard::Event written, collided, read;

  Stage(const outboard::Device& device, std::int64_t capacity)
      : in(device, capacity),
        out(device, capacity),
        solute_velocity(device, 3 * capacity),
        written(device),
        collided(device),
        read(device) {}
};

namespace {

constexpr std::size_t kStages = 3;

// A write into memory that no command uses any more is one copy, straight into the device's memory
// if the host maps it. So no slab takes the memory of another there.
std::size_t stage_count(bool mapped, std::size_t parts) {
  return mapped ? parts : std::min(kStages, parts);
}

int part_count(const Parameters& p, const Domain& domain) {
  return std::clamp(p.slabs, 1, domain.layers);
}

std::int64_t layer_cells(const Domain& domain) {
  return std::int64_t{domain.cells[0]} * domain.cells[1];
}

std::int64_t most_layers(const Parameters& p, const Domain& domain) {
  const int parts = part_count(p, domain);
  return (domain.layers + parts - 1) / parts;
}

// Room for a fifth more particles than the mean.
std::int64_t part_capacity(const Parameters& p, const Domain& domain) {
  const std::int64_t mean = layer_cells(domain) * most_layers(p, domain) * p.particles_per_cell;
  return mean + mean / 5 + 1000;
}

}  // namespace

TravellingFluid::TravellingFluid(const outboard::Device& device, const Parameters& parameters,
                                 const Domain& domain, Neighbours& neighbours, Particles start)
    : parameters_(parameters),
      domain_(domain),
      neighbours_(neighbours),
      kernels_(device, parameters),
      up_(device),
      work_(device),
      down_(device),
      mapped_(device.facts().host_visible != 0),
      parts_(static_cast<std::size_t>(part_count(parameters, domain))),
      part_of_layer_(static_cast<std::size_t>(domain.layers)),
      capacity_(part_capacity(parameters, domain)),
      area_(device, capacity_, layer_cells(domain) * most_layers(parameters, domain)),
      now_(std::move(start)),
      lost_(parts_.size()) {
  const auto parts = static_cast<int>(parts_.size());
  for (int k = 0; k < parts; ++k) {
    Part& part = parts_[static_cast<std::size_t>(k)];
    part.first_layer = domain.layers * k / parts;
    part.layers = domain.layers * (k + 1) / parts - part.first_layer;
    std::fill_n(part_of_layer_.begin() + part.first_layer, part.layers, k);
  }
  for (std::size_t k = 0; k < stage_count(mapped_, parts_.size()); ++k) {
    stages_.push_back(std::make_unique<Stage>(device, capacity_));
  }
}

TravellingFluid::~TravellingFluid() = default;

void TravellingFluid::collide(const Collision& collision, Particles& solutes) {
  sort_by_parts(collision.shift, solutes);
  const Stopwatch watch(costs_.device_s);
  travel(collision, solutes);
  std::swap(now_, next_);
}

// --- the host's part: particles to slabs ---------------------------------------------------------

void TravellingFluid::sort_by_parts(const Shift& shift, const Particles& solutes) {
  for (Part& part : parts_) part.fluid = part.solutes = 0;
  const std::vector<double> arrived = leave(shift);
  const Stopwatch watch(costs_.sort_s);
  for (std::size_t r = 0; r < arrived.size(); r += kRecord) {
    const int layer = domain_.layer_of(arrived[r + 2], shift[2]);
    if (layer >= domain_.layers) {
      throw std::runtime_error(
          "a particle is not in its domain (it moved over more than one domain in a step); take a "
          "shorter step or fewer ranks");
    }
    ++parts_[static_cast<std::size_t>(part_of(layer))].fluid;
  }
  for (std::size_t i = 0; i < solutes.size(); ++i) {
    const int layer = domain_.layer_of(solutes.position[3 * i + 2], shift[2]);
    ++parts_[static_cast<std::size_t>(part_of(layer))].solutes;
  }
  place_parts(shift, arrived, solutes);
}

// Finds the slab of each particle, and sends those of other domains away. Returns the arrivals.
std::vector<double> TravellingFluid::leave(const Shift& shift) {
  std::vector<double> down, up;
  {
    const Stopwatch watch(costs_.sort_s);
    part_of_.resize(now_.size());
    for (std::size_t i = 0; i < now_.size(); ++i) {
      part_of_[i] = -1;
      if (now_.id[i] >= parameters_.fluid()) continue;
      const int layer = domain_.layer_of(now_.position[3 * i + 2], shift[2]);
      if (layer < domain_.layers) {
        part_of_[i] = part_of(layer);
        ++parts_[static_cast<std::size_t>(part_of_[i])].fluid;
      } else {
        append_record(domain_.above(layer) ? up : down, now_, i);
      }
    }
  }
  if (domain_.ranks == 1) return {};
  const Stopwatch watch(costs_.exchange_s);
  return neighbours_.exchange(down, up);
}

void TravellingFluid::place_parts(const Shift& shift, const std::vector<double>& arrived,
                                  const Particles& solutes) {
  std::size_t entries = 0, solutes_before = 0;
  std::vector<std::size_t> fluid_at, solutes_at, solute_number;
  for (Part& part : parts_) {
    part.begin = entries;
    fluid_at.push_back(entries);
    solutes_at.push_back(entries + part.fluid);
    solute_number.push_back(solutes_before);
    entries += part.entries();
    solutes_before += part.solutes;
    if (static_cast<std::int64_t>(part.entries()) > capacity_) {
      throw std::runtime_error("a slab has too many particles (" + std::to_string(part.entries()) +
                               ", room for " + std::to_string(capacity_) +
                               "); take fewer slabs (--slabs)");
    }
  }
  next_.resize(entries);
  for (std::size_t i = 0; i < now_.size(); ++i) {
    if (part_of_[i] < 0) continue;
    next_.set(fluid_at[static_cast<std::size_t>(part_of_[i])]++, &now_.position[3 * i],
              &now_.velocity[3 * i], now_.id[i]);
  }
  for (std::size_t r = 0; r < arrived.size(); r += kRecord) {
    const int part = part_of(domain_.layer_of(arrived[r + 2], shift[2]));
    next_.set(fluid_at[static_cast<std::size_t>(part)]++, &arrived[r], &arrived[r + 3],
              static_cast<std::uint32_t>(arrived[r + 6]));
  }
  solute_order_.resize(solutes.size());
  solute_velocity_.resize(3 * solutes.size());
  for (std::size_t i = 0; i < solutes.size(); ++i) {
    const auto part =
        static_cast<std::size_t>(part_of(domain_.layer_of(solutes.position[3 * i + 2], shift[2])));
    next_.set(solutes_at[part]++, &solutes.position[3 * i], &solutes.velocity[3 * i],
              solutes.id[i]);
    solute_order_[i] = solute_number[part]++;
  }
}

// --- the device's part ---------------------------------------------------------------------------

void TravellingFluid::travel(const Collision& collision, Particles& solutes) {
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    send(k, collision);
    if (!mapped_) receive(k);
  }
  // The thread that waits for a read of mapped memory makes the copy itself, while the device
  // collides the next slab.
  for (std::size_t k = 0; k < parts_.size() && mapped_; ++k) {
    receive(k);
    wait(down_);
  }
  for (const outboard::Queue* queue : {&up_, &work_, &down_}) wait(*queue);
  if (std::any_of(lost_.begin(), lost_.end(), [](auto lost) { return lost != 0; })) {
    throw std::runtime_error(
        "the device finds particles that are not in their slab (it computes "
        "other cells than the host); check the device with another program");
  }
  for (std::size_t i = 0; i < solutes.size(); ++i) {
    std::copy_n(&solute_velocity_[3 * solute_order_[i]], 3, &solutes.velocity[3 * i]);
  }
}

void TravellingFluid::wait(const outboard::Queue& queue) {
  costs_.compute_s += static_cast<double>(queue.synchronize().compute_ns) * 1e-9;
}

void TravellingFluid::send(std::size_t number, const Collision& collision) {
  const Part& part = parts_[number];
  const auto entries = static_cast<std::int64_t>(part.entries());
  if (entries == 0) return;
  Stage& at = stage(number);

  // Slabs may share the memory of stages; the last collision has passed all queues.
  const bool used_before = number >= stages_.size();
  if (used_before) up_.hold(at.collided);
  up_.write(at.in.position.part(0, 3 * entries), &next_.position[3 * part.begin]);
  up_.write(at.in.velocity.part(0, 3 * entries), &next_.velocity[3 * part.begin]);
  up_.write(at.in.id.part(0, entries), &next_.id[part.begin]);
  up_.record(at.written);
  up_.flush();

  work_.hold(at.written);
  if (used_before) work_.hold(at.read);
  const Slab slab{0, static_cast<std::uint32_t>(entries), static_cast<std::uint32_t>(part.fluid),
                  domain_.first_layer + part.first_layer, part.layers};
  kernels_.collide(work_, collision, slab, area_, at.in, at.out, at.solute_velocity);
  kernels_.read_lost(work_, area_, &lost_[number]);
  kernels_.stream(work_, at.out, slab.entries);
  work_.record(at.collided);
  work_.flush();
  costs_.to_device_bytes += 52 * part.entries();
}

void TravellingFluid::receive(std::size_t number) {
  const Part& part = parts_[number];
  const auto entries = static_cast<std::int64_t>(part.entries());
  if (entries == 0) return;
  Stage& at = stage(number);
  down_.hold(at.collided);
  down_.read(&next_.position[3 * part.begin], at.out.position.part(0, 3 * entries));
  down_.read(&next_.velocity[3 * part.begin], at.out.velocity.part(0, 3 * entries));
  down_.read(&next_.id[part.begin], at.out.id.part(0, entries));
  if (part.solutes > 0) {
    std::size_t before = 0;
    for (std::size_t k = 0; k < number; ++k) before += parts_[k].solutes;
    down_.read(&solute_velocity_[3 * before],
               at.solute_velocity.part(0, 3 * static_cast<std::int64_t>(part.solutes)));
  }
  if (number + stages_.size() < parts_.size()) {  // another slab takes the memory
    down_.record(at.read);
    down_.flush();
  }
  costs_.from_device_bytes += 52 * part.entries() + 24 * part.solutes;
}

Particles TravellingFluid::fetch() {
  Particles fluid;
  for (std::size_t i = 0; i < now_.size(); ++i) {
    if (now_.id[i] >= parameters_.fluid()) continue;
    fluid.append(&now_.position[3 * i], &now_.velocity[3 * i], now_.id[i]);
  }
  return fluid;
}

}  // namespace mp2c
