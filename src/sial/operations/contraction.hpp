#pragma once
// Contractions of two blocks.

#include <cstdint>

#include "base/status.hpp"
#include "sial/operations/contraction_layout.hpp"
#include "sial/operations/copy.hpp"
#include "sial/operations/gemm.hpp"
#include "sial/operations/scratch.hpp"

namespace ob::sial {

/// The steps of a contraction, computed once from labels, extents and strides.
/// Threads: any
class ContractionPlan {
 public:
  /// Labels in D and B1, and in D and B2 are kept, those in B1 and B2 are summed. Dimensions of
  /// extent 1 do not count.
  /// @pre each other label is in exactly two operands, once in each, with equal extents
  static ContractionPlan make(const View& d, const ConstView& b1, const ConstView& b2,
                              const ContractionRates& rates = {});

  /// D = B1 B2, D += B1 B2 or D -= B1 B2 for operands at these addresses.
  /// Errors: out_of_memory, with D unchanged
  /// @pre D does not overlap with an operand
  Status run(double* d, const double* b1, const double* b2, Assign assign, Gemm& gemm,
             Scratch& scratch) const;

  /// The matrix products and copies that run() makes.
  const ContractionLayout& layout() const noexcept { return layout_; }

 private:
  void multiply(double* d, const double* b1, const double* b2, double alpha, double beta,
                Gemm& gemm) const;

  ContractionLayout layout_;
  std::array<CopyPlan, 3> copies_;
};

/// D = B1 B2, D += B1 B2 or D -= B1 B2 by a plan that was made for views like these. Reads the
/// operands before D changes. With = the old D is overwritten, NaN included.
/// Result: within (2 k + 4) eps of the sum of absolute products over k summed elements
/// Errors: out_of_memory, with D unchanged
Status contract(const ContractionPlan& plan, const View& d, const ConstView& b1,
                const ConstView& b2, Assign assign, Gemm& gemm, Scratch& scratch);

/// The same with a plan of its own.
Status contract(const View& d, const ConstView& b1, const ConstView& b2, Assign assign, Gemm& gemm,
                Scratch& scratch);

}  // namespace ob::sial
