#pragma once
// How a contraction becomes matrix products: the choice of groups, orders, permutations and loops.

#include <array>
#include <cstddef>
#include <cstdint>

#include "sial/operations/axes.hpp"
#include "sial/operations/view.hpp"

namespace ob::sial {

inline constexpr unsigned kMaxLabels = 3 * kMaxRank / 2;  ///< each label is in two operands
inline constexpr unsigned kMaxOuter = 2;                  ///< labels with a loop around gemm

/// The rates that the choice compares. The defaults are of one core of 2021; only their ratios
/// matter.
struct ContractionRates {
  double flops_per_s = 35e9;
  double bytes_per_s = 10e9;  ///< read and written, of a permutation
  double gemm_start_s = 4e-7;
  double copy_start_s = 1e-7;
};

enum class Group : unsigned { m, n, k };  ///< in D and B1, in D and B2, in B1 and B2
enum ContractionOperand : unsigned { kD, kB1, kB2 };

/// A label of extent > 1, or several that are neighbours in both operands.
struct ContractionLabel {
  std::int64_t extent = 1;
  Group group = Group::m;
  std::array<std::int64_t, 3> strides{};  ///< in D, B1, B2; 0 where absent
};

struct ContractionLabels {
  unsigned count = 0;
  std::array<ContractionLabel, kMaxLabels> label{};

  /// @pre each label of extent > 1 is in exactly two operands, once in each
  static ContractionLabels of(const View& d, const ConstView& b1, const ConstView& b2);
};

/// One operand as gemm sees it.
struct OperandLayout {
  bool permuted = false;      ///< gemm works on a dense copy
  bool second_first = false;  ///< the second of its groups has stride 1: a transposed matrix
  std::int64_t ld = 1;
  std::array<std::int64_t, kMaxOuter> outer_strides{};
  std::int64_t elements = 1;
  Axes<2> axes;  ///< of (copy, operand) if permuted; of (operand, copy) for D
};

/// C = alpha op(A) op(B) + beta C, one of the matrix products of a contraction.
struct ContractionProduct {
  char transa = 'N', transb = 'N';
  std::int64_t m = 1, n = 1, k = 1;
  ContractionOperand a = kB1, b = kB2;
  std::int64_t a_offset = 0, b_offset = 0, c_offset = 0;  ///< of A, B and C in their operands
  std::int64_t lda = 1, ldb = 1, ldc = 1;
  bool later = false;  ///< an earlier product has written to C: it adds up, whatever beta is
};

/// D (m x n) = B1 (m x k) B2 (k x n), once per iteration of the outer loops.
struct ContractionLayout {
  std::int64_t m = 1, n = 1, k = 1;
  std::array<OperandLayout, 3> operands{};
  unsigned outer = 0;
  std::array<std::int64_t, kMaxOuter> outer_extents{1, 1};
  std::array<bool, kMaxOuter> outer_sums{};  ///< the label is summed
  double seconds = 0;                        ///< by the rates

  /// Returns the layout that takes the least time by `rates`.   Cost: some microseconds
  static ContractionLayout choose(const ContractionLabels& labels, const ContractionRates& rates);

  /// Calls `run(product)` for each matrix product, in order.
  template <class Run>
  void for_each_product(Run&& run) const;
};

template <class Run>
void ContractionLayout::for_each_product(Run&& run) const {
  const auto& [to, first, second] = operands;
  ContractionProduct product;
  const auto trans = [](bool transposed) { return transposed ? 'T' : 'N'; };
  if (!to.second_first) {
    product = {trans(first.second_first), trans(second.second_first), m, n, k, kB1, kB2};
  } else {  // the transposed product of the transposed operands
    product = {trans(!second.second_first), trans(!first.second_first), n, m, k, kB2, kB1};
  }
  product.lda = operands[product.a].ld;
  product.ldb = operands[product.b].ld;
  product.ldc = to.ld;
  for (std::int64_t i = 0; i < outer_extents[0]; ++i) {
    for (std::int64_t j = 0; j < outer_extents[1]; ++j) {
      const auto at = [&](const OperandLayout& operand) {
        return i * operand.outer_strides[0] + j * operand.outer_strides[1];
      };
      product.a_offset = at(operands[product.a]);
      product.b_offset = at(operands[product.b]);
      product.c_offset = at(to);
      product.later = (outer_sums[0] && i > 0) || (outer_sums[1] && j > 0);
      run(product);
    }
  }
}

}  // namespace ob::sial
