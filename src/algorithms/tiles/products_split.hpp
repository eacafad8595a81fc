#pragma once
// A call of BLAS level 3 in parts for several devices.

#include <span>
#include <vector>

#include "algorithms/panels/pipeline_model.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::algorithms {

/// Writes a part of the result that no other part writes, and reads none that another one writes.
struct CallPart {
  /// A smaller call of the same routine; of syrk, herk, syr2k and her2k the whole one.
  CallArguments arguments;
  /// syrk, herk, syr2k, her2k: these of the diagonal, with the columns of a lower triangle below
  /// them or the rows of an upper one beside them; else empty.
  Range diagonal;
};

/// gemm, symm, hemm, trmm, trsm, syrk, herk, syr2k, her2k.
bool can_be_split(const Descriptor& routine) noexcept;

/// One part for each weight, in proportion of the work; fewer where there is too little to cut: a
/// part without work is left out. Nothing is copied.
/// C of gemm is cut into the grid for which the devices together get least of A and B: rows of the
/// grid are equal in number of devices, or nearly.
/// @pre can_be_split(routine); weights are positive
std::vector<CallPart> split_call(const Descriptor& routine, const Argument* arguments,
                                 std::span<const double> weights);

/// A part of symm, hemm, trmm or trsm: some columns of B or, from the right, rows.
CallPart columns_of_call(const Descriptor& routine, const Argument* arguments, const Range& range);

}  // namespace ob::algorithms
