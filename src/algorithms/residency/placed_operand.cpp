#include "algorithms/residency/placed_operand.hpp"

#include <algorithm>

namespace ob::algorithms {

Region device_region(const Operand& operand, bool written) {
  return region_of(operand, Kind::vector, 0, written);
}

Region home_region(const Descriptor& routine, const Operand& operand, const HostOperand& host,
                   bool written) {
  Region region = region_of(operand, routine.kinds[operand.argument], host.ld, written);
  if (operand.cols <= 1) region.ld = std::max<std::uint64_t>(1, operand.rows);
  return region;
}

PlacedOperand placed_operand(const Descriptor& routine, const Operand& operand,
                             const HostOperand& host) {
  PlacedOperand placed;
  placed.data = static_cast<std::byte*>(host.data);
  placed.home = home_region(routine, operand, host, false);
  placed.there = device_region(operand, false);
  placed.read = operand.read;
  placed.written = operand.written;
  placed.consumed = operand.consumed;
  placed.written_triangle = operand.written_triangle;
  return placed;
}

PlacedOperand part_of(const PlacedOperand& whole, const Block& block, Triangle triangle) {
  PlacedOperand part = whole;
  part.data += (block.col * whole.home.ld + block.row) * whole.home.element_bytes;
  part.there.triangle = triangle;
  part.there.rows = block.rows;
  part.there.cols = block.cols;
  part.there.ld = std::max<std::uint64_t>(1, block.rows);
  part.home = part.there;
  if (block.cols > 1) part.home.ld = whole.home.ld;
  return part;
}

}  // namespace ob::algorithms
