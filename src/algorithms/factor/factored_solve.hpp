#pragma once
// The solution of a system with factors in host memory.

#include <cstdint>
#include <span>
#include <string_view>

#include "algorithms/call_timings.hpp"
#include "algorithms/exchange/panel_exchange.hpp"
#include "base/layout.hpp"
#include "base/status.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::algorithms {

/// The second half of posv and gesv. It runs on the first device of an exchange, because n^2
/// operations per column do not pay for several. If the factors do not fit there beside B, they
/// pass through the device in strips.
/// Memory:  in strips, twice the size of B in host memory
/// Errors:  those of the device. B is replaced last, when nothing can fail any more
class FactoredSolve {
 public:
  /// @param arguments of posv or gesv
  FactoredSolve(PanelExchange& exchange, const Descriptor& routine, const Argument* arguments);

  Status with_cholesky(const HostOperand& factor, bool lower, CallTimings& timings);
  /// @param pivots n of them, from 1
  Status with_lu(const HostOperand& factors, std::int64_t* pivots, CallTimings& timings);

 private:
  // One of two triangular systems.
  struct Triangular {
    char uplo;
    char trans;
    char diag;
  };
  bool fits() const;
  Status at_once(std::string_view base, CallArguments& arguments, std::size_t next,
                 CallTimings& timings);
  Status in_strips(const HostOperand& factors, std::span<const Triangular, 2> systems,
                   const std::int64_t* pivots, CallTimings& timings);
  Status solve_strips(const HostOperand& factors, const Triangular& system, const HostOperand& x,
                      CallTimings& timings);
  Layout layout(const HostOperand& x) const;

  PanelExchange& exchange_;
  const Precision precision_;
  const std::uint64_t memory_bytes_;  // 0: no limit
  const Argument& n_;
  const Argument& nrhs_;
  const Argument& b_;
};

}  // namespace ob::algorithms
