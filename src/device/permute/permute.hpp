#pragma once
// The operation `permute` of devices (routines/block.toml).

#include <array>
#include <cstdint>

#include "device/permute/axes.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob {

/// True if the row is that of permute.
bool is_permute(const Descriptor& routine) noexcept;

/// A call of permute in terms of strides.
struct Permutation {
  std::int64_t elements = 0;
  Axes<2> axes;  ///< of (B, A), neighbours joined; undefined without elements
  double alpha = 1, beta = 0;
  const double* a = nullptr;
  double* b = nullptr;

  /// @param arguments those of a legal call, memory operands as Argument::host
  static Permutation of(const Argument* arguments) noexcept;
};

/// B := alpha A permuted + beta B. A is not read if alpha is 0, and B is not read if beta is 0.
/// @param arguments as Permutation::of
/// Memory: of the host; A and B do not overlap
void permute(const Argument* arguments) noexcept;

/// The order of a dense block: the distance of neighbours in each dimension [elements].
using Order = std::array<std::int64_t, kMaxAxes>;

/// Returns the call that copies a dense block from one order to another.
/// @param extents of the block's dimensions   @pre rank <= kMaxAxes
CallArguments permutation(unsigned rank, const Order& extents, const Order& from, const Order& to,
                          const DeviceOperand& a, const DeviceOperand& b);

}  // namespace ob
