#include "algorithms/factor/factored_solve.hpp"

#include <algorithm>

#include "algorithms/device_buffer.hpp"
#include "algorithms/device_call.hpp"
#include "algorithms/offload.hpp"
#include "algorithms/tiles/tiles.hpp"
#include "base/host_scratch.hpp"

namespace ob::algorithms {
namespace {

// Memory that rounding up the sizes of the buffers may take: factors, B, pivots, info.
constexpr double kUnits = 4 * kAllocationUnitBytes;

std::uint64_t memory_of_first(const ExchangeModel& model) {
  return model.ranks.empty() ? 0 : model.ranks.front().memory_bytes;
}

}  // namespace

FactoredSolve::FactoredSolve(PanelExchange& exchange, const Descriptor& routine,
                             const Argument* arguments)
    : exchange_(exchange),
      precision_(routine.precision),
      memory_bytes_(memory_of_first(exchange.model())),
      n_(arguments[argument_position(routine, "n")]),
      nrhs_(arguments[argument_position(routine, "nrhs")]),
      b_(arguments[argument_position(routine, "b")]) {}

bool FactoredSolve::fits() const {
  if (memory_bytes_ == 0) return true;
  const auto n = static_cast<double>(n_.dim);
  const double elements = n * (n + static_cast<double>(nrhs_.dim));
  const double bytes = elements * element_bytes(precision_) + n * sizeof(std::int64_t) + kUnits;
  return bytes <= static_cast<double>(memory_bytes_);
}

Status FactoredSolve::with_cholesky(const HostOperand& factor, bool lower, CallTimings& timings) {
  const char uplo = lower ? 'L' : 'U';
  if (!fits()) {
    const Triangular systems[2] = {{uplo, lower ? 'N' : 'C', 'N'}, {uplo, lower ? 'C' : 'N', 'N'}};
    return in_strips(factor, systems, nullptr, timings);
  }
  CallArguments solve;
  solve.items[0].flag = uplo;
  solve.items[1] = n_;
  solve.items[2] = nrhs_;
  solve.items[3].host = factor;
  return at_once("potrs", solve, 4, timings);
}

Status FactoredSolve::with_lu(const HostOperand& factors, std::int64_t* pivots,
                              CallTimings& timings) {
  if (!fits()) {
    const Triangular systems[2] = {{'L', 'N', 'U'}, {'U', 'N', 'N'}};
    return in_strips(factors, systems, pivots, timings);
  }
  CallArguments solve;
  solve.items[0].flag = 'N';
  solve.items[1] = n_;
  solve.items[2] = nrhs_;
  solve.items[3].host = factors;
  solve.items[4].host = {pivots, 0};
  return at_once("getrs", solve, 5, timings);
}

// B is replaced last, by offload_call().
Status FactoredSolve::at_once(std::string_view base, CallArguments& arguments, std::size_t next,
                              CallTimings& timings) {
  const Descriptor* routine = routine_of(base, precision_);
  if (routine == nullptr) return {Code::unsupported, "a routine is not in the table"};
  std::int64_t info = 0;
  arguments.items[next] = b_;
  arguments.items[next + 1].host = {&info, 0};
  CallTimings spent;
  OB_RETURN_IF_ERROR(offload_call(
      {exchange_.device(Rank(0)), exchange_.compute(Rank(0)), *routine, arguments.items, spent}));
  timings += spent;
  return {};
}

Layout FactoredSolve::layout(const HostOperand& x) const {
  const Region all{0,
                   element_bytes(precision_),
                   Triangle::full,
                   static_cast<std::uint64_t>(n_.dim),
                   static_cast<std::uint64_t>(nrhs_.dim),
                   static_cast<std::uint64_t>(x.ld),
                   static_cast<std::uint8_t>(real_bytes(precision_))};
  return Layout::matrix(x.data, all);
}

// Works on a copy of B, because between the two systems it is neither B nor X.
Status FactoredSolve::in_strips(const HostOperand& factors, std::span<const Triangular, 2> systems,
                                const std::int64_t* pivots, CallTimings& timings) {
  const auto n = static_cast<std::uint64_t>(n_.dim);
  const auto columns = static_cast<std::uint64_t>(nrhs_.dim);
  const std::uint64_t element = element_bytes(precision_);
  const HostScratch scratch(n * columns * element);
  if (scratch.data() == nullptr) {
    return {Code::out_of_memory, "no memory for the solutions of a system of order " +
                                     std::to_string(n) + " in host memory"};
  }
  const HostOperand x{scratch.data(), n_.dim};
  copy(layout(x), layout(b_.host));
  for (std::uint64_t column = 0; pivots != nullptr && column < columns; ++column) {
    std::byte* const at = scratch.data() + column * n * element;
    for (std::uint64_t row = 0; row < n; ++row) {
      const auto other = static_cast<std::uint64_t>(pivots[row] - 1);
      if (other == row) continue;
      std::swap_ranges(at + row * element, at + (row + 1) * element, at + other * element);
    }
  }
  for (const Triangular& system : systems) {
    OB_RETURN_IF_ERROR(solve_strips(factors, system, x, timings));
  }
  copy(layout(b_.host), layout(x));
  return {};
}

Status FactoredSolve::solve_strips(const HostOperand& factors, const Triangular& system,
                                   const HostOperand& x, CallTimings& timings) {
  const Descriptor* trsm = routine_of("trsm", precision_);
  if (trsm == nullptr) return {Code::unsupported, "a routine is not in the table"};
  CallArguments solve;
  solve.items[0].flag = 'L';
  solve.items[1].flag = system.uplo;
  solve.items[2].flag = system.trans;
  solve.items[3].flag = system.diag;
  solve.items[4] = n_;
  solve.items[5] = nrhs_;
  solve.items[6].scalar = {1, 0};
  solve.items[7].host = factors;
  solve.items[8].host = x;
  CallTimings spent;
  OB_RETURN_IF_ERROR(offload_tiles(
      {exchange_.device(Rank(0)), exchange_.compute(Rank(0)), *trsm, solve.items, spent}, {},
      memory_bytes_));
  timings += spent;
  return {};
}

}  // namespace ob::algorithms
