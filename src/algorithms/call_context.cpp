#include "algorithms/call_context.hpp"

#include <algorithm>

namespace ob::algorithms {

std::size_t argument_position(const Descriptor& routine, std::string_view name) {
  const auto names = routine.argument_names;
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

PlacedOperand placed_by_name(const Descriptor& routine, const Argument* arguments,
                             std::string_view name) {
  const std::size_t at = argument_position(routine, name);
  const Operands operands = routine.operands(arguments);
  const auto items = operands.span();
  const auto found = std::find_if(items.begin(), items.end(),
                                  [&](const Operand& operand) { return operand.argument == at; });
  return placed_operand(routine, *found, arguments[at].host);
}

const Argument& CallContext::argument(std::string_view name) const {
  return arguments[argument_position(routine, name)];
}

PlacedOperand CallContext::placed(std::string_view matrix) const {
  return placed_by_name(routine, arguments, matrix);
}

}  // namespace ob::algorithms
