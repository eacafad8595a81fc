#include "sial/builtins/arguments.hpp"

#include <cmath>
#include <utility>

#include "base/contract.hpp"

namespace ob::sial {
namespace {

std::string argument_name(Arguments arguments, std::size_t number) {
  const std::string& name = arguments[number].name;
  return "argument " + std::to_string(number + 1) + (name.empty() ? "" : " (" + name + ")");
}

Status bad_argument(Arguments arguments, std::size_t number, const std::string& problem) {
  return {Code::invalid_argument, argument_name(arguments, number) + " " + problem};
}

std::string extents_text(const View& view) {
  std::string text;
  for (unsigned d = 0; d < view.rank; ++d) {
    text += (d == 0 ? "" : " x ") + std::to_string(view.extents[d]);
  }
  return text.empty() ? "1" : text;
}

}  // namespace

Result<View> block_argument(Arguments arguments, std::size_t number) {
  OB_EXPECT(number < arguments.size());
  if (arguments[number].kind != ArgumentKind::block) {
    return bad_argument(arguments, number,
                        "is not a block (the super-instruction works on its elements); pass a "
                        "block, a region or a static array");
  }
  return arguments[number].view;
}

Result<View> block_of_rank(Arguments arguments, std::size_t number, unsigned rank) {
  OB_ASSIGN_OR_RETURN(const View view, block_argument(arguments, number));
  if (view.rank != rank) {
    return bad_argument(arguments, number,
                        "has the rank " + std::to_string(view.rank) + " (it must be " +
                            std::to_string(rank) + "); pass an array of that rank");
  }
  return view;
}

Result<double> number_argument(Arguments arguments, std::size_t number) {
  OB_EXPECT(number < arguments.size());
  const CallArgument& argument = arguments[number];
  switch (argument.kind) {
    case ArgumentKind::scalar: return *argument.scalar;
    case ArgumentKind::integer: return static_cast<double>(*argument.integer);
    case ArgumentKind::block:
      if (argument.view.elements() == 1) return *argument.view.data;
      break;
    case ArgumentKind::text:
    case ArgumentKind::array: break;
  }
  return bad_argument(arguments, number, "is not a number; pass a scalar or an int");
}

Status store_number(Arguments arguments, std::size_t number, double value) {
  OB_EXPECT(number < arguments.size());
  const CallArgument& argument = arguments[number];
  switch (argument.kind) {
    case ArgumentKind::scalar: *argument.scalar = value; return {};
    case ArgumentKind::integer: *argument.integer = std::llrint(value); return {};
    case ArgumentKind::block: *argument.view.data = value; return {};
    case ArgumentKind::text:
    case ArgumentKind::array: break;
  }
  return bad_argument(arguments, number, "cannot take a number; pass a scalar");
}

Status check_same_extents(const View& one, const View& other) {
  bool same = one.rank == other.rank;
  for (unsigned d = 0; same && d < one.rank; ++d) same = one.extents[d] == other.extents[d];
  if (same) return {};
  return {Code::invalid_argument, "the blocks have the extents " + extents_text(one) + " and " +
                                      extents_text(other) +
                                      " (they must be equal); pass blocks of the same kinds"};
}

std::vector<double> elements_of(const View& view) {
  std::vector<double> elements;
  elements.reserve(static_cast<std::size_t>(view.elements()));
  for_each_element(view, [&](const auto&, double element) { elements.push_back(element); });
  return elements;
}

void store_elements(const View& view, const std::vector<double>& elements) {
  OB_EXPECT(elements.size() == static_cast<std::size_t>(view.elements()));
  const double* from = elements.data();
  for_each_element(view, [&](const auto&, double& element) { element = *from++; });
}

}  // namespace ob::sial
