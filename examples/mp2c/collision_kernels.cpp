#include "collision_kernels.hpp"

#include <cmath>
#include <numbers>
#include <string>

namespace mp2c {
namespace {

using outboard::Device;
using outboard::Queue;
using outboard::Vector;

constexpr std::uint32_t kGroup = 64;
// A group of the scan sums up kScanItems elements per work-item.
constexpr std::uint32_t kScanItems = 16, kScanGroup = 64, kScanPart = kScanItems * kScanGroup;

constexpr std::uint32_t parts_of(std::uint32_t elements, std::uint32_t size) {
  return (elements + size - 1) / size;
}

outboard::Extents groups_for(std::uint32_t items) { return {parts_of(items, kGroup)}; }

}  // namespace

std::string kernel_options() {
  return "-D SCAN_ITEMS=" + std::to_string(kScanItems) +
         " -D SCAN_GROUP=" + std::to_string(kScanGroup);
}

SortArea::SortArea(const Device& device, std::int64_t entries, std::int64_t cells)
    : begin_(device, cells + 1),
      cell_of_(device, entries),
      number_(device, entries),
      order_(device, entries),
      lost_(device, 1) {
  auto elements = static_cast<std::uint32_t>(cells + 1);
  do {
    elements = parts_of(elements, kScanPart);
    sums_.emplace_back(device, elements);
  } while (elements > 1);
}

CollisionKernels::CollisionKernels(const Device& device, const Parameters& parameters)
    : parameters_(parameters),
      module_(device, outboard::portable(kKernelText), kernel_options()),
      count_cells_(module_.get(), "count_cells"),
      scan_parts_(module_.get(), "scan_parts"),
      add_sums_(module_.get(), "add_sums"),
      sort_entries_(module_.get(), "sort_entries"),
      collide_(module_.get(), "collide"),
      stream_(module_.get(), "stream"),
      pack_(module_.get(), "pack"),
      unpack_(module_.get(), "unpack") {}

void CollisionKernels::collide(const Queue& queue, const Collision& collision, const Slab& slab,
                               SortArea& area, const DeviceParticles& from,
                               const DeviceParticles& to,
                               const Vector<double>& solute_velocity) const {
  const auto& [nx, ny, nz] = parameters_.cells;
  const auto& [x, y, z] = collision.shift;
  const auto layer = static_cast<std::uint32_t>(nx) * static_cast<std::uint32_t>(ny);
  const std::uint32_t cells = layer * static_cast<std::uint32_t>(slab.layers);
  const std::uint32_t first_cell = layer * static_cast<std::uint32_t>(slab.first_layer);
  const double angle = parameters_.angle_degrees * std::numbers::pi / 180;

  queue.fill(area.begin_, 0);
  queue.fill(area.lost_, 0);
  count_cells_(queue, groups_for(slab.entries), {kGroup}, from.position, from.id, slab.resident,
               slab.entries, parameters_.fluid(), x, y, z, nx, ny, nz, slab.first_layer,
               slab.layers, area.begin_, area.cell_of_, area.number_, area.lost_);
  scan(queue, area, cells + 1);
  sort_entries_(queue, groups_for(slab.entries), {kGroup}, area.cell_of_, area.number_, area.begin_,
                slab.entries, area.order_);
  collide_(queue, groups_for(cells), {kGroup}, area.begin_, area.order_, cells, first_cell,
           from.position, from.velocity, from.id, to.position, to.velocity, to.id, solute_velocity,
           slab.solutes_at, parameters_.fluid(), parameters_.solute_mass, std::cos(angle),
           std::sin(angle), parameters_.thermostat ? 1.0 : 0.0, parameters_.seed, collision.number);
}

// The sums of parts are scanned like the elements, until there is one part.
void CollisionKernels::scan(const Queue& queue, SortArea& area, std::uint32_t elements) const {
  std::vector<std::uint32_t> counts;
  const Vector<std::uint32_t>* element = &area.begin_;
  for (std::size_t level = 0; elements > 1 || level == 0; ++level) {
    const std::uint32_t parts = parts_of(elements, kScanPart);
    scan_parts_(queue, {parts}, {kScanGroup}, *element, area.sums_[level], elements);
    counts.push_back(elements);
    element = &area.sums_[level];
    elements = parts;
  }
  for (std::size_t level = counts.size() - 1; level > 0; --level) {
    const auto& whole = level == 1 ? area.begin_ : area.sums_[level - 2];
    add_sums_(queue, groups_for(counts[level - 1]), {kGroup}, whole, area.sums_[level - 1],
              counts[level - 1]);
  }
}

void CollisionKernels::stream(const Queue& queue, const DeviceParticles& particles,
                              std::uint32_t entries) const {
  stream_(queue, groups_for(entries), {kGroup}, particles.position, particles.velocity,
          particles.id, entries, parameters_.fluid(), parameters_.streaming_step(),
          parameters_.cells[0], parameters_.cells[1], parameters_.cells[2]);
}

void CollisionKernels::pack(const Queue& queue, const Domain& domain, const Shift& shift,
                            const DeviceParticles& particles, std::uint32_t entries,
                            const Vector<double>& records,
                            const Vector<std::uint32_t>& leaving) const {
  const auto capacity = static_cast<std::uint32_t>(records.size() / 14);
  queue.fill(leaving, 0);
  pack_(queue, groups_for(entries), {kGroup}, particles.position, particles.velocity, particles.id,
        entries, parameters_.fluid(), shift[2], domain.cells[2], domain.first_layer, domain.layers,
        records, capacity, leaving);
}

void CollisionKernels::unpack(const Queue& queue, const Vector<double>& records,
                              std::uint32_t count, const DeviceParticles& to,
                              std::uint32_t at) const {
  if (count == 0) return;
  unpack_(queue, groups_for(count), {kGroup}, records, count, at, to.position, to.velocity, to.id);
}

}  // namespace mp2c
