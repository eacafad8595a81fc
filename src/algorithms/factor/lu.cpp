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

Status LuFactorization::factor(std::size_t at, std::size_t panel) {
  return DeviceCall(getrf_)
      .dim(height(panel))
      .dim(blocks().count(panel))
      .at(own_part(at, panel, blocks().first(panel)))
      .at(entries(at, panel))
      .at(info(at, panel))
      .submit(exchange().device(at), exchange().compute(at));
}

// Which rows are exchanged must be known where the exchanges are submitted.
Status LuFactorization::before_completion(std::size_t at, std::size_t panel) {
  const DeviceOperand there = entries(at, panel);
  const Region part{there.offset_bytes, kPivotBytes, Triangle::full, depth(panel), 1,
                    depth(panel),       kPivotBytes};
  std::int64_t* const here = &pivots_[blocks().first(panel)];
  OB_RETURN_IF_ERROR(exchange().read_posted(at, there.buffer, part,
                                            Layout::bytes(here, depth(panel) * kPivotBytes)));
  const auto rows = static_cast<std::int64_t>(height(panel));
  for (std::uint64_t i = 0; i < depth(panel); ++i) {
    if (here[i] < 1 || here[i] > rows) {
      // what failed before, if anything did, is why
      OB_RETURN_IF_ERROR(exchange().device(at).synchronize(exchange().compute(at)).status);
      return {Code::device_error, "a pivot is no row of its panel (" + std::to_string(here[i]) +
                                      " of " + std::to_string(rows) +
                                      "); the device's library is not to be trusted"};
    }
    here[i] += static_cast<std::int64_t>(blocks().first(panel));
  }
  return {};
}

Status LuFactorization::exchange_rows(std::size_t at, std::size_t panel, std::size_t first,
                                      std::uint64_t cols) {
  const std::uint64_t from = blocks().first(panel);
  for (std::uint64_t row = from; row < from + depth(panel); ++row) {
    const auto other = static_cast<std::uint64_t>(pivots_[row] - 1);
    if (other == row) continue;
    OB_RETURN_IF_ERROR(DeviceCall(swap_)
                           .dim(cols)
                           .at(own_part(at, first, row))
                           .at(own_part(at, first, other))
                           .submit(exchange().device(at), exchange().compute(at)));
  }
  return {};
}

Status LuFactorization::update(std::size_t at, std::size_t panel, std::size_t first,
                               std::size_t end) {
  Device& device = exchange().device(at);
  const QueueId queue = exchange().compute(at);
  const std::uint64_t row = blocks().first(panel);
  const std::uint64_t deep = depth(panel);
  const std::uint64_t cols = columns(at, first, end);
  OB_RETURN_IF_ERROR(exchange_rows(at, panel, first, cols));
  OB_RETURN_IF_ERROR(DeviceCall(trsm_)
                         .flag('L')
                         .flag('L')
                         .flag('N')
                         .flag('U')
                         .dim(deep)
                         .dim(cols)
                         .scalar(1)
                         .at(panel_part(at, panel, row))
                         .at(own_part(at, first, row))
                         .submit(device, queue));
  const std::uint64_t below = height(panel) - deep;
  if (below == 0) return {};
  return DeviceCall(gemm_)
      .flag('N')
      .flag('N')
      .dim(below)
      .dim(cols)
      .dim(deep)
      .scalar(-1)
      .at(panel_part(at, panel, row + deep))
      .at(own_part(at, first, row))
      .scalar(1)
      .at(own_part(at, first, row + deep))
      .submit(device, queue);
}

std::int64_t LuFactorization::complete() {
  const std::uint64_t m = problem().m;
  for (std::size_t block = 0; block < panels(); ++block) {
    for (std::uint64_t col = blocks().first(block); col < blocks().end(block); ++col) {
      std::byte* const column = results() + col * m * element();
      // of the panels behind this one, which it never saw
      for (std::uint64_t row = blocks().end(block); row < order(); ++row) {
        const auto other = static_cast<std::uint64_t>(pivots_[row] - 1);
        if (other == row) continue;
        std::swap_ranges(column + row * element(), column + (row + 1) * element(),
                         column + other * element());
      }
    }
  }
  return info_result();
}

void LuFactorization::commit() { copy_to_host(); }

}  // namespace ob::algorithms
