#include "algorithms/factor/plan.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "algorithms/device_buffer.hpp"
#include "algorithms/real.hpp"

namespace ob::algorithms {
namespace {

constexpr double kBuffers = 4;
// The bytes of a column besides its elements, at most: a pivot or the factor of a reflector.
constexpr double kEntryBytes = 16;

}  // namespace

double factor_memory_bytes(const FactorShape& shape, std::uint64_t block, std::uint64_t rows,
                           std::uint64_t columns) {
  const double elements =
      real(rows) * real(columns) + kPanelSlots * real(shape.rows()) * real(block);
  const double infos = 8 * (real(shape.n) / std::max(1.0, real(block)) + 2);
  const double entries = kEntryBytes * (real(shape.n) + kPanelSlots * real(block));
  return shape.element_bytes * elements + entries + infos + kBuffers * kAllocationUnitBytes;
}

double factor_memory_bytes(const FactorShape& shape, const FactorPlan& plan) {
  const ColumnDistribution distribution(shape.n, plan.block, plan.devices);
  return factor_memory_bytes(shape, plan.block, shape.rows(),
                             distribution.local_count(Rank(0), SlabIndex(0)));
}

std::uint64_t columns_in(const FactorShape& shape, std::uint64_t block,
                         std::uint64_t memory_bytes) {
  const double left = real(memory_bytes) - factor_memory_bytes(shape, block, 0, 0);
  const double column_bytes = shape.element_bytes * real(shape.rows());
  return left > 0 ? static_cast<std::uint64_t>(left / column_bytes) : 0;
}

double reloaded_bytes(const FactorShape& shape, std::uint64_t block, std::uint64_t memory_bytes) {
  const bool is_triangle = shape.kind == FactorShape::Kind::cholesky;
  const double rows = real(shape.rows());
  const double n = real(shape.n);
  const double fit = real(columns_in(shape, block, memory_bytes));
  double brought = 0;
  for (double end = n; end > fit || (is_triangle && end > 0);) {
    if (fit < real(block)) return 0;
    double first = end - fit;
    if (is_triangle) {
      // (n - first) (end - first) elements
      const double behind = n - end;
      const double high = (behind + std::sqrt(behind * behind + 4 * fit * rows)) / 2;
      first = n - high;
    }
    if (first <= 0) break;
    const double panels = std::min(first, rows);
    brought += is_triangle ? first * (n - first) : panels * (rows - panels / 2);
    end = first;
  }
  return shape.element_bytes * brought;
}

std::uint64_t default_block(const FactorShape& shape, std::uint64_t memory_bytes) {
  constexpr std::uint64_t kWidest = 256;
  constexpr std::uint64_t kPart = 10;
  if (memory_bytes == 0) return kWidest;
  return std::clamp<std::uint64_t>(columns_in(shape, 0, memory_bytes) / kPart, 1, kWidest);
}

std::optional<ColumnDistribution> distribute_columns(const FactorShape& shape,
                                                     std::span<const RankModel> ranks,
                                                     const FactorPlan& plan) {
  std::vector<double> shares(plan.devices, 1.0);
  if (plan.by_rate && ranks.size() >= plan.devices) {
    for (std::size_t at = 0; at < plan.devices; ++at) shares[at] = ranks[at].flop_per_s;
  }
  ColumnDistribution distribution(shape.n, plan.block, shares);
  const bool all_fits = distribution.cut([&](BlockIndex first, Rank rank, std::uint64_t columns) {
    const std::uint64_t memory = rank.value() < ranks.size() ? ranks[rank.value()].memory_bytes : 0;
    if (memory == 0) return true;
    const bool is_triangle = shape.kind == FactorShape::Kind::cholesky;
    const std::uint64_t rows =
        is_triangle ? GlobalIndex(shape.n) - distribution.first(first) : shape.m;
    return factor_memory_bytes(shape, plan.block, rows, columns) <= real(memory);
  });
  return all_fits ? std::optional(std::move(distribution)) : std::nullopt;
}

}  // namespace ob::algorithms
