#include "api/routine_arguments.hpp"

#include <cctype>
#include <string>
#include <string_view>

namespace ob::api {
namespace {

bool is_complex(Precision precision) noexcept {
  return precision == Precision::c || precision == Precision::z;
}

}  // namespace

Outcome find_routine(const char* name, std::size_t count, const Descriptor*& routine) {
  if (name == nullptr) return mistake("no routine (the pointer is NULL)");
  routine = routines::find(std::string_view(name));
  if (routine == nullptr) {
    return Outcome(Status(Code::unsupported,
                          "no routine \"" + std::string(name) +
                              "\" in the table; `outboard coverage` lists those that there are, in "
                              "lower case"));
  }
  if (count == routine->kinds.size() && count <= kMaxArguments) return {};
  std::string names;
  for (const std::string_view argument : routine->argument_names) {
    names.append(names.empty() ? "" : ", ").append(argument);
  }
  return mistake(std::to_string(count) + " operands for " + name + "; it takes " +
                 std::to_string(routine->kinds.size()) + ": " + names);
}

Outcome set_plain_argument(const ob_operand& operand, std::size_t position,
                           const Descriptor& routine, Argument& argument) {
  switch (routine.kinds[position]) {
    case Kind::flag:
      argument.flag =
          static_cast<char>(std::toupper(static_cast<unsigned char>(operand.value.flag)));
      return {};
    case Kind::dim: argument.dim = operand.value.integer; return {};
    case Kind::scalar:
      if (!is_complex(routine.precision)) break;
      if (operand.value.pair == nullptr) {
        return mistake("argument " + std::string(routine.argument_names[position]) + " of " +
                       std::string(routine.name) +
                       " is NULL; a complex scalar is a pointer to two doubles");
      }
      argument.scalar = {operand.value.pair[0], operand.value.pair[1]};
      return {};
    default: break;
  }
  argument.scalar = {operand.value.real, 0};
  return {};
}

}  // namespace ob::api
