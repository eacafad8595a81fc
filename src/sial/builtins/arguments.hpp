#pragma once
// Checks of the arguments of super-instructions. The declaration in a program fixes their number
// and intents; their kinds and extents are input.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "sial/plugin/super_instruction.hpp"

namespace ob::sial {

using Arguments = std::span<CallArgument>;

/// Returns the view of an argument, counted from 0.
/// Errors: invalid_argument if it is no block
Result<View> block_argument(Arguments arguments, std::size_t number);

/// As block_argument(), and the rank must be this.
Result<View> block_of_rank(Arguments arguments, std::size_t number, unsigned rank);

/// Returns the value of a scalar, an int or a block with one element.
Result<double> number_argument(Arguments arguments, std::size_t number);

/// Stores into a scalar, an int (rounded to nearest) or the first element of a block.
Status store_number(Arguments arguments, std::size_t number, double value);

/// Errors: invalid_argument unless both views have the same rank and extents
Status check_same_extents(const View& one, const View& other);

/// Calls body(position, element) for all elements, in storage order of a dense block.
template <class Body>
void for_each_element(const View& view, Body&& body) {
  std::array<std::int64_t, kMaxRank> at{};
  double* element = view.data;
  while (true) {
    body(static_cast<const std::array<std::int64_t, kMaxRank>&>(at), *element);
    unsigned d = 0;
    for (; d < view.rank; ++d) {
      element += view.strides[d];
      if (++at[d] < view.extents[d]) break;
      element -= view.strides[d] * view.extents[d];
      at[d] = 0;
    }
    if (d == view.rank) return;
  }
}

/// Returns the elements in storage order of a dense block.
std::vector<double> elements_of(const View& view);

/// Stores elements that are in storage order of a dense block.   @pre as many as the view has
void store_elements(const View& view, const std::vector<double>& elements);

}  // namespace ob::sial
