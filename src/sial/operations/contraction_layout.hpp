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
};

}  // namespace ob::sial
