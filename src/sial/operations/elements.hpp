#pragma once
// Operations element by element, outer and inner products.

#include "base/status.hpp"
#include "sial/operations/scratch.hpp"
#include "sial/operations/view.hpp"

namespace ob::sial {

/// d = s, d += s, d -= s or d *= s, on every element.
void fill(const View& d, double s, Assign assign);

/// d = b1 + b2, also where they overlap.   Errors: out_of_memory
/// @pre three equal label lists (dimensions of extent 1 do not count) and equal extents
Status add(const View& d, const ConstView& b1, const ConstView& b2, Scratch& scratch);

/// d = b1 - b2.   As add().
Status subtract(const View& d, const ConstView& b1, const ConstView& b2, Scratch& scratch);

/// d = b1 b2, element by element.   As add().
Status multiply_elements(const View& d, const ConstView& b1, const ConstView& b2, Scratch& scratch);

/// d = b1 ^ b2: the product of each element of B1 with each of B2; added or subtracted by
/// `assign`.   Errors: out_of_memory if D overlaps with an operand
/// @pre B1 and B2 share no label, and D has the labels of both in any order
Status outer(const View& d, const ConstView& b1, const ConstView& b2, Assign assign,
             Scratch& scratch);

/// Returns the sum of b1 b2 over all elements.
/// @pre the labels of one are a permutation of those of the other, or equal lists if one repeats
double inner_product(const ConstView& b1, const ConstView& b2);

}  // namespace ob::sial
