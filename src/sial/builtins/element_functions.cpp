// Super-instructions on the elements of blocks.

#include <utility>

#include "sial/builtins/arguments.hpp"
#include "sial/builtins/builtins.hpp"
#include "sial/operations/copy.hpp"
#include "sial/operations/elements.hpp"

namespace ob::sial {
namespace {

// Arguments match by position, whatever their indices are.
View by_position(View view) {
  for (unsigned d = 0; d < view.rank; ++d) view.labels[d] = d;
  return view;
}

Status take_first_element(CallContext&, Arguments arguments) {
  OB_ASSIGN_OR_RETURN(const View block, block_argument(arguments, 0));
  return store_number(arguments, 1, *block.data);
}

Status return_only_element(CallContext&, Arguments arguments) {
  OB_ASSIGN_OR_RETURN(const View block, block_argument(arguments, 0));
  if (block.elements() != 1) {
    return {Code::invalid_argument,
            "the block has " + std::to_string(block.elements()) +
                " elements (return_sval needs one); use get_first_block_element"};
  }
  return store_number(arguments, 1, *block.data);
}

Status swap_two_blocks(CallContext&, Arguments arguments) {
  OB_ASSIGN_OR_RETURN(const View one, block_argument(arguments, 0));
  OB_ASSIGN_OR_RETURN(const View other, block_argument(arguments, 1));
  OB_RETURN_IF_ERROR(check_same_extents(one, other));
  for_each_element(one, [&](const auto& at, double& element) {
    double* with = other.data;
    for (unsigned d = 0; d < other.rank; ++d) with += at[d] * other.strides[d];
    std::swap(element, *with);
  });
  return {};
}

Status multiply_by_element(CallContext&, Arguments arguments) {
  OB_ASSIGN_OR_RETURN(const View d, block_argument(arguments, 0));
  OB_ASSIGN_OR_RETURN(const View b1, block_argument(arguments, 1));
  OB_ASSIGN_OR_RETURN(const View b2, block_argument(arguments, 2));
  OB_RETURN_IF_ERROR(check_same_extents(d, b1));
  OB_RETURN_IF_ERROR(check_same_extents(d, b2));
  Scratch scratch;
  return multiply_elements(by_position(d), read_only(by_position(b1)), read_only(by_position(b2)),
                           scratch);
}

// Energies of one dimension of a block: e points at its first element there.
struct Energies {
  const double* e = nullptr;
  std::int64_t stride = 0;
  double operator[](std::int64_t at) const { return e[at * stride]; }
};

Result<Energies> energies_of(Arguments arguments, std::size_t number, unsigned dimension) {
  OB_ASSIGN_OR_RETURN(const View table, block_of_rank(arguments, number, 1));
  const CallArgument& block = arguments[0];
  const std::int64_t skipped =
      block.first_elements[dimension] - arguments[number].first_elements[0];
  if (skipped < 0 || skipped + block.view.extents[dimension] > table.extents[0]) {
    return Status(Code::invalid_argument,
                  "argument " + std::to_string(number + 1) + " has no element for dimension " +
                      std::to_string(dimension + 1) +
                      " of the block (it covers fewer global numbers); pass the whole array");
  }
  return Energies{table.data + skipped * table.strides[0], table.strides[0]};
}

Status divide_by_energy_gaps(CallContext&, Arguments arguments) {
  OB_ASSIGN_OR_RETURN(const View x, block_of_rank(arguments, 0, 4));
  OB_ASSIGN_OR_RETURN(const Energies e1, energies_of(arguments, 1, 0));
  OB_ASSIGN_OR_RETURN(const Energies e2, energies_of(arguments, 2, 1));
  OB_ASSIGN_OR_RETURN(const Energies e3, energies_of(arguments, 3, 2));
  OB_ASSIGN_OR_RETURN(const Energies e4, energies_of(arguments, 4, 3));
  for_each_element(x, [&](const auto& at, double& element) {
    element /= e1[at[0]] + e2[at[1]] - e3[at[2]] - e4[at[3]];
  });
  return {};
}

Status transpose_matrix(CallContext&, Arguments arguments) {
  OB_ASSIGN_OR_RETURN(const View to, block_of_rank(arguments, 0, 2));
  OB_ASSIGN_OR_RETURN(const View from, block_of_rank(arguments, 1, 2));
  View turned = from;
  std::swap(turned.extents[0], turned.extents[1]);
  std::swap(turned.strides[0], turned.strides[1]);
  OB_RETURN_IF_ERROR(check_same_extents(to, turned));
  Scratch scratch;
  return copy(by_position(to), read_only(by_position(turned)), Assign::set, scratch);
}

}  // namespace

void add_element_functions(SuperFunctions& functions) {
  functions["get_first_block_element"] = {"rw", take_first_element};
  functions["return_sval"] = {"rw", return_only_element};
  functions["swap_blocks"] = {"uu", swap_two_blocks};
  functions["multiply_elements"] = {"urr", multiply_by_element};
  functions["divide_by_gaps"] = {"urrrr", divide_by_energy_gaps};
  functions["transpose"] = {"wr", transpose_matrix};
}

}  // namespace ob::sial
