#include "routines/cost.hpp"

namespace ob {

Cost cost_of(const Descriptor& routine, const Argument* arguments) noexcept {
  Cost cost;
  cost.flop = routine.flops(arguments);
  const Operands operands =
      routine.operands(arguments);  // a temporary would not outlive the loop's header
  for (const Operand& operand : operands.span()) {
    // Only elements travel, so that gaps between columns do not count.
    const auto bytes = [&operand](bool written) {
      return static_cast<double>(packed_bytes(region_of(operand, Kind::vector, 0, written)));
    };
    if (operand.read) cost.bytes_to += bytes(false);
    if (operand.written) cost.bytes_from += bytes(true);
  }
  return cost;
}

}  // namespace ob
