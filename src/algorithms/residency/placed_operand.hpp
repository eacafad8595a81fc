#pragma once
// The regions of the operands of a call in host memory and, without gaps, in device memory.

#include <cstdint>

#include "algorithms/panels/pipeline_model.hpp"
#include "algorithms/residency/residency.hpp"
#include "base/layout.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::algorithms {

/// The region of the elements that are read or, if `written`, of the results. A device operand has
/// no padding between its columns: padding and gaps are not transferred.
Region device_region(const Operand& operand, bool written);
Region home_region(const Descriptor& routine, const Operand& operand, const HostOperand& host,
                   bool written);

PlacedOperand placed_operand(const Descriptor& routine, const Operand& operand,
                             const HostOperand& host);

/// A block of a matrix as an operand of its own.
PlacedOperand part_of(const PlacedOperand& whole, const Block& block,
                      Triangle triangle = Triangle::full);

}  // namespace ob::algorithms
