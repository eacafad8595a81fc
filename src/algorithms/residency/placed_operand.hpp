#pragma once
// Where the operands of a call lie: in the program's memory, and without gaps on a device.

#include <cstdint>

#include "algorithms/panels/pipeline_model.hpp"
#include "algorithms/residency/residency.hpp"
#include "base/layout.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::algorithms {

/// Of what is read, or of the results. Device operands are as dense as their rows allow: padding
/// and gaps stay at home.
Region device_region(const Operand& operand, bool written);
Region home_region(const Descriptor& routine, const Operand& operand, const HostOperand& host,
                   bool written);

PlacedOperand placed_operand(const Descriptor& routine, const Operand& operand,
                             const HostOperand& host);

/// A block of a matrix as an operand of its own.
PlacedOperand part_of(const PlacedOperand& whole, const Block& block,
                      Triangle triangle = Triangle::full);

}  // namespace ob::algorithms
