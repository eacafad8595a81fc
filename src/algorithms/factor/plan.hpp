#pragma once
// Plans of factorizations: the number of devices, the blocks, and their distribution.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "algorithms/exchange/exchange_model.hpp"
#include "algorithms/factor/column_distribution.hpp"

namespace ob::algorithms {

/// The matrix that is to be factored.
struct FactorShape {
  enum class Kind : unsigned char { cholesky, lu, qr } kind = Kind::cholesky;
  std::uint64_t m = 0;
  std::uint64_t n = 0;
  std::uint32_t element_bytes = 8;
  bool complex = false;

  std::uint64_t rows() const { return kind == Kind::cholesky ? n : m; }
};

/// Panels of other devices that a device holds: one is used, one arrives.
inline constexpr std::size_t kPanelSlots = 2;

/// The plan: the number of devices, and the columns of a block.
struct FactorPlan {
  std::size_t devices = 1;
  std::uint64_t block = 256;
  double seconds = 0;    ///< expected
  bool by_rate = false;  ///< devices get parts by their rates, not equal parts
};

/// Distributes the columns, in slabs if the devices lack the memory for all of them at once. Empty
/// if they lack the memory even for a slab of one block.
/// @param ranks models of the devices; devices behind the last one have no limits
std::optional<ColumnDistribution> distribute_columns(const FactorShape& shape,
                                                     std::span<const RankModel> ranks,
                                                     const FactorPlan& plan);

/// The memory that a device needs for columns of a slab, and for panels of other devices.
/// @param rows of the slab; of Cholesky the rows from its first column on
/// Units: bytes, as devices count them
double factor_memory_bytes(const FactorShape& shape, std::uint64_t block, std::uint64_t rows,
                           std::uint64_t columns);

/// The number of columns of a slab that fit on a device, if a slab is as high as A, beside two
/// panels of `block` columns.
std::uint64_t columns_in(const FactorShape& shape, std::uint64_t block, std::uint64_t memory_bytes);

/// Returns the bytes of earlier panels that one device reloads if it factors the whole matrix in
/// this memory. 0 if the matrix fits at once, or if not even a slab of one block fits.
/// Cost: of n^3 / (3 w) elements (LU, QR of n x n, slabs of w columns), a few operations per slab
double reloaded_bytes(const FactorShape& shape, std::uint64_t block, std::uint64_t memory_bytes);

/// The block width if the best one is unknown: panels take about a fifth of the memory.
std::uint64_t default_block(const FactorShape& shape, std::uint64_t memory_bytes);

/// The memory that a plan needs on each device, with the columns distributed in turn and all at
/// once.
/// Units: bytes
double factor_memory_bytes(const FactorShape& shape, const FactorPlan& plan);

}  // namespace ob::algorithms
