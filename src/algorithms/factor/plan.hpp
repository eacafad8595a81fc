#pragma once
// What is to be factored, on how many devices, and which of them gets what.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "algorithms/exchange/exchange_model.hpp"
#include "algorithms/factor/column_distribution.hpp"

namespace ob::algorithms {

/// What is to be factored.
struct FactorShape {
  enum class Kind : unsigned char { cholesky, lu, qr } kind = Kind::cholesky;
  std::uint64_t m = 0;
  std::uint64_t n = 0;
  std::uint32_t element_bytes = 8;
  bool complex = false;

  std::uint64_t rows() const { return kind == Kind::cholesky ? n : m; }
};

/// How it is done: on the first so many devices, in blocks of so many columns.
struct FactorPlan {
  std::size_t devices = 1;
  std::uint64_t block = 256;
  double seconds = 0;    ///< expected
  bool by_rate = false;  ///< devices get parts by their rates, instead of equal ones
};

/// Distributes the columns out; in slabs if devices have not the memory for all at once. Empty:
/// they have not even the memory for a slab of one block.
/// @param ranks what is known of the devices; fewer than plan.devices: of the others nothing is
std::optional<ColumnDistribution> distribute_columns(const FactorShape& shape,
                                                     std::span<const RankModel> ranks,
                                                     const FactorPlan& plan);

/// What a device needs for columns of a slab, and for panels of others.
/// @param rows of the slab: of Cholesky those from its first column on
/// Units: bytes, as devices count them
double factor_memory_bytes(const FactorShape& shape, std::uint64_t block, std::uint64_t rows,
                           std::uint64_t columns);

/// The columns that a device can have of a slab, if a slab is as high as A; what is left of its
/// memory takes two panels of so many columns.
std::uint64_t columns_in(const FactorShape& shape, std::uint64_t block, std::uint64_t memory_bytes);

/// What is brought to one device that does it all in so much memory: panels of earlier slabs. 0 if
/// it can do it all at once, or not even a slab of one block.
/// Cost: of n^3 / (3 w) elements (LU, QR of n x n, slabs of w columns), a few operations per slab
double reloaded_bytes(const FactorShape& shape, std::uint64_t block, std::uint64_t memory_bytes);

/// A block for devices of so much memory if nothing is known that says which is best: panels take
/// about a fifth of it.
std::uint64_t default_block(const FactorShape& shape, std::uint64_t memory_bytes);

/// What a plan takes of each device's memory where the columns are distributed out in turn, all at
/// once. Units: bytes
double factor_memory_bytes(const FactorShape& shape, const FactorPlan& plan);

}  // namespace ob::algorithms
