#pragma once
// Splits a call of BLAS level 3 into parts for several devices.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/panels/pipeline_model.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::algorithms {

/// A part of a call. It writes elements of the result that no other part writes, and reads none
/// that another part writes.
struct CallPart {
  /// A smaller call of the same routine; for syrk, herk, syr2k and her2k the whole call.
  CallArguments arguments;
  /// syrk, herk, syr2k, her2k: this range of the diagonal, with the columns of a lower triangle
  /// below it or the rows of an upper one beside it. Empty for all other routines.
  Range diagonal;
};

/// The row or column nearest to `position` where `edge` rows or columns are cut. Long edges are cut
/// at multiples of the blocks that kernels work in.   @pre 0 <= position <= edge
// Inline, because the entries use it and do not link the algorithms.
inline std::uint64_t round_cut(std::uint64_t edge, double position) noexcept {
  // About the rows and columns that a kernel computes at once.
  constexpr std::uint64_t kKernelBlock = 32;
  const std::uint64_t block = edge >= 8 * kKernelBlock ? kKernelBlock : 1;
  const auto blocks = static_cast<std::uint64_t>(position / static_cast<double>(block) + 0.5);
  return std::min(edge, blocks * block);
}

/// True for gemm, symm, hemm, trmm, trsm, syrk, herk, syr2k and her2k.
bool can_be_split(const Descriptor& routine) noexcept;

/// Splits a call into one part for each weight, with work in proportion to the weights. A part
/// without work is omitted. No data is copied.
/// C of gemm is cut into a grid. The rows of the grid have nearly equal numbers of devices. The
/// number of rows is the one for which all devices together receive the fewest elements of A and B.
/// @pre can_be_split(routine); weights are positive
std::vector<CallPart> split_call(const Descriptor& routine, const Argument* arguments,
                                 std::span<const double> weights);

/// The part of symm, hemm, trmm or trsm for a range of columns of B; of rows if A is on the right.
CallPart columns_of_call(const Descriptor& routine, const Argument* arguments, const Range& range);

}  // namespace ob::algorithms
