#include "algorithms/factor/lu.hpp"

#include <algorithm>

#include "algorithms/device_call.hpp"

namespace ob::algorithms {
namespace {

constexpr std::uint32_t kPivotBytes = sizeof(std::int64_t);

}  // namespace

LuFactorization::LuFactorization(PanelExchange& exchange, const Problem& problem,
                                 const ColumnDistribution& distribution)
    : GeneralFactorization(exchange, problem, distribution, kPivotBytes, kPivotBytes),
      getrf_(routine_of("getrf", problem.precision)),
      swap_(routine_of("swap", problem.precision)),
      trsm_(routine_of("trsm", problem.precision)),
      gemm_(routine_of("gemm", problem.precision)),
      pivots_(order()) {}

Status LuFactorization::factor(Rank rank, BlockIndex panel) {
  return DeviceCall(getrf_)
      .dim(height(panel))
      .dim(blocks().count(panel))
      .at(own_part(rank, panel, blocks().first(panel)))
      .at(entries(rank, panel))
      .at(info(rank, panel))
      .submit(exchange().device(rank), exchange().compute(rank));
}

// The row exchanges are commands of their own, so the pivots are read before the panel is used.
Status LuFactorization::before_completion(Rank rank, BlockIndex panel) {
  const DeviceOperand entry = entries(rank, panel);
  const Region part{entry.offset_bytes, kPivotBytes, Triangle::full, depth(panel), 1,
                    depth(panel),       kPivotBytes};
  const std::uint64_t first = blocks().first(panel).value();
  std::int64_t* const pivots = &pivots_[first];
  OB_RETURN_IF_ERROR(exchange().read_posted(rank, entry.buffer, part,
                                            Layout::bytes(pivots, depth(panel) * kPivotBytes)));
  const auto rows = static_cast<std::int64_t>(height(panel));
  for (std::uint64_t i = 0; i < depth(panel); ++i) {
    if (pivots[i] < 1 || pivots[i] > rows) {
      // an earlier failure of the queue explains it
      OB_RETURN_IF_ERROR(exchange().device(rank).synchronize(exchange().compute(rank)).status);
      return {Code::device_error, "a pivot is no row of its panel (" + std::to_string(pivots[i]) +
                                      " of " + std::to_string(rows) +
                                      "); the device's library is not to be trusted"};
    }
    pivots[i] += static_cast<std::int64_t>(first);
  }
  return {};
}

// With the own blocks A_kj of the panel's rows and A_ij of the rows below:
// exchange rows, U_kj = L_kk^-1 A_kj, A_ij -= L_ik U_kj.
Status LuFactorization::update(Rank rank, BlockIndex panel, BlockIndex first, BlockIndex end) {
  const std::uint64_t cols = columns(rank, first, end);
  OB_RETURN_IF_ERROR(exchange_rows(rank, panel, first, cols));
  OB_RETURN_IF_ERROR(solve(rank, panel, first, cols));
  return update_below(rank, panel, first, cols);
}

Status LuFactorization::exchange_rows(Rank rank, BlockIndex panel, BlockIndex first,
                                      std::uint64_t cols) {
  const GlobalIndex from = blocks().first(panel);
  for (GlobalIndex row = from; row < from + depth(panel); ++row) {
    const GlobalIndex other = pivot(row);
    if (other == row) continue;
    OB_RETURN_IF_ERROR(DeviceCall(swap_)
                           .dim(cols)
                           .at(own_part(rank, first, row))
                           .at(own_part(rank, first, other))
                           .submit(exchange().device(rank), exchange().compute(rank)));
  }
  return {};
}

Status LuFactorization::solve(Rank rank, BlockIndex panel, BlockIndex first, std::uint64_t cols) {
  const GlobalIndex row = blocks().first(panel);
  return DeviceCall(trsm_)
      .flag('L')
      .flag('L')
      .flag('N')
      .flag('U')
      .dim(depth(panel))
      .dim(cols)
      .scalar(1)
      .at(panel_part(rank, panel, row))
      .at(own_part(rank, first, row))
      .submit(exchange().device(rank), exchange().compute(rank));
}

Status LuFactorization::update_below(Rank rank, BlockIndex panel, BlockIndex first,
                                     std::uint64_t cols) {
  const std::uint64_t rest = height(panel) - depth(panel);
  if (rest == 0) return {};
  const GlobalIndex row = blocks().first(panel);
  const GlobalIndex below = row + depth(panel);
  return DeviceCall(gemm_)
      .flag('N')
      .flag('N')
      .dim(rest)
      .dim(cols)
      .dim(depth(panel))
      .scalar(-1)
      .at(panel_part(rank, panel, below))
      .at(own_part(rank, first, row))
      .scalar(1)
      .at(own_part(rank, first, below))
      .submit(exchange().device(rank), exchange().compute(rank));
}

std::int64_t LuFactorization::complete() {
  const std::uint64_t column_bytes = problem().m * element();
  const GlobalIndex end_row(order());
  for (BlockIndex block; block < end_panel(); ++block) {
    for (GlobalIndex col = blocks().first(block); col < blocks().end(block); ++col) {
      std::byte* const column = results() + col.value() * column_bytes;
      // the exchanges of later panels, which came after the column was fetched
      for (GlobalIndex row = blocks().end(block); row < end_row; ++row) {
        const GlobalIndex other = pivot(row);
        if (other == row) continue;
        std::swap_ranges(column + row.value() * element(), column + (row.value() + 1) * element(),
                         column + other.value() * element());
      }
    }
  }
  return info_result();
}

void LuFactorization::commit() { copy_to_host(); }

}  // namespace ob::algorithms
