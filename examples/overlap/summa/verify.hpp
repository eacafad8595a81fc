#pragma once
// Checks of products.

#include <cstdint>
#include <string>
#include <vector>

#include "matrix.hpp"
#include "mesh.hpp"

namespace summa {

/// Compares C x with A (B x) for random vectors x of integers (Freivalds, 1977), with a bound for
/// the rounding of real numbers, and exactly for integers: a wrong integer stays unseen with a
/// probability below 1e-9. Collective.
/// @return what is wrong, or nothing
std::string freivalds(const Mesh& mesh, const Block& a, const Block& b, const Block& c,
                      bool integers);

/// Compares elements of C with the sums that this rank computes in integers.
/// @param rows, columns the places of the block's rows and columns in the whole matrix
/// @return the number of elements that differ
std::int64_t wrong_integers(const Block& c, const std::vector<std::int64_t>& rows,
                            const std::vector<std::int64_t>& columns, std::int64_t k,
                            const Elements& a, const Elements& b);

}  // namespace summa
