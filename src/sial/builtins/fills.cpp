// Super-instructions that fill blocks.

#include <bit>
#include <cstdint>

#include "base/mixed.hpp"
#include "sial/builtins/arguments.hpp"
#include "sial/builtins/builtins.hpp"

namespace ob::sial {
namespace {

Status fill_sequential(CallContext&, Arguments arguments) {
  OB_ASSIGN_OR_RETURN(const View block, block_argument(arguments, 0));
  OB_ASSIGN_OR_RETURN(double value, number_argument(arguments, 1));
  for_each_element(block, [&](const auto&, double& element) { element = value++; });
  return {};
}

// 1 follows 20, as in the programs that use this super-instruction.
Status fill_cyclic(CallContext&, Arguments arguments) {
  OB_ASSIGN_OR_RETURN(const View block, block_argument(arguments, 0));
  OB_ASSIGN_OR_RETURN(double value, number_argument(arguments, 1));
  for_each_element(block, [&](const auto&, double& element) {
    element = value;
    value = value >= 20 ? 1 : value + 1;
  });
  return {};
}

// The value of an element depends on the seed and its global numbers only, so that it is the same
// wherever the block is filled.
Status fill_random(CallContext&, Arguments arguments) {
  OB_ASSIGN_OR_RETURN(const View block, block_argument(arguments, 0));
  OB_ASSIGN_OR_RETURN(const double seed, number_argument(arguments, 1));
  OB_ASSIGN_OR_RETURN(const double bound, number_argument(arguments, 2));
  const auto& first = arguments[0].first_elements;
  const std::uint64_t start = mixed(std::bit_cast<std::uint64_t>(seed));
  for_each_element(block, [&](const auto& at, double& element) {
    std::uint64_t bits = start;
    for (unsigned d = 0; d < block.rank; ++d) {
      bits = mixed(bits ^ static_cast<std::uint64_t>(first[d] + at[d]));
    }
    const double unit = static_cast<double>(bits >> 11) * 0x1p-53;  // in [0, 1)
    element = bound * (2 * unit - 1);
  });
  return {};
}

// By global numbers, so that the blocks of an array together are the identity.
Status set_identity(CallContext&, Arguments arguments) {
  OB_ASSIGN_OR_RETURN(const View block, block_of_rank(arguments, 0, 2));
  const auto& first = arguments[0].first_elements;
  for_each_element(block, [&](const auto& at, double& element) {
    element = first[0] + at[0] == first[1] + at[1] ? 1 : 0;
  });
  return {};
}

}  // namespace

void add_fills(SuperFunctions& functions) {
  functions["fill_block_sequential"] = {"wr", fill_sequential};
  functions["fill_block_cyclic"] = {"wr", fill_cyclic};
  functions["fill_random"] = {"wrr", fill_random};
  functions["set_identity"] = {"w", set_identity};
}

}  // namespace ob::sial
