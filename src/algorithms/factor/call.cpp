#include "algorithms/factor/call.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "algorithms/call_context.hpp"
#include "algorithms/device_call.hpp"
#include "algorithms/factor/cholesky.hpp"
#include "algorithms/factor/factored_solve.hpp"
#include "algorithms/factor/lu.hpp"
#include "algorithms/factor/qr.hpp"

namespace ob::algorithms {
namespace {

// One call of the program.
class FactorCall {
 public:
  FactorCall(PanelExchange& exchange, const Descriptor& routine, const Argument* arguments,
             const ColumnDistribution& distribution, CallTimings& timings)
      : exchange_(exchange),
        routine_(routine),
        arguments_(arguments),
        distribution_(distribution),
        timings_(timings) {}

  Status run() {
    const std::string_view base = routine_.base;
    if (base == "geqrf") return qr();
    return base == "potrf" || base == "posv" ? cholesky() : lu();
  }

 private:
  const Argument& argument(std::string_view name) const {
    return arguments_[argument_position(routine_, name)];
  }
  std::uint64_t dim(std::string_view name) const {
    return static_cast<std::uint64_t>(argument(name).dim);
  }
  bool solves() const { return routine_.base.ends_with("sv"); }
  void report(std::int64_t info) const {
    std::memcpy(argument("info").host.data, &info, sizeof info);
  }

  Status cholesky() {
    const std::uint64_t n = dim("n");
    const bool lower = argument("uplo").flag == 'L';
    CholeskyFactorization made(exchange_, {routine_.precision, lower, n, argument("a").host},
                               distribution_);
    OB_RETURN_IF_ERROR(factor(made));
    if (solves() && made.info() == 0) {
      FactoredSolve solve(exchange_, routine_, arguments_);
      const HostOperand factor{made.factor(), static_cast<std::int64_t>(n)};
      OB_RETURN_IF_ERROR(solve.with_cholesky(factor, lower, timings_));
    }
    report(made.commit());
    return {};
  }

  Status lu() {
    const std::uint64_t n = dim("n");
    const std::uint64_t m = solves() ? n : dim("m");
    LuFactorization made(exchange_, {routine_.precision, m, n, argument("a").host}, distribution_);
    OB_RETURN_IF_ERROR(factor(made));
    const std::int64_t info = made.complete();
    if (solves() && info == 0) {
      FactoredSolve solve(exchange_, routine_, arguments_);
      const HostOperand factors{made.factors(), static_cast<std::int64_t>(n)};
      OB_RETURN_IF_ERROR(solve.with_lu(factors, made.pivots(), timings_));
    }
    std::memcpy(argument("ipiv").host.data, made.pivots(), std::min(m, n) * sizeof(std::int64_t));
    made.commit();
    report(info);
    return {};
  }

  Status qr() {
    QrFactorization made(exchange_, {routine_.precision, dim("m"), dim("n"), argument("a").host},
                         distribution_);
    OB_RETURN_IF_ERROR(factor(made));
    made.commit(argument("tau").host.data);
    report(0);
    return {};
  }

  Status factor(BlockedFactorization& made) {
    OB_RETURN_IF_ERROR(made.run());
    for (Rank rank; rank.value() < exchange_.size(); ++rank) {
      const Traffic& traffic = exchange_.traffic(rank);
      const bool relays = exchange_.model().route == Route::relay;
      timings_.bytes_to += traffic.sent + (relays ? traffic.received : 0);
      timings_.bytes_between += relays ? 0 : traffic.received;
      timings_.bytes_from += traffic.fetched;
      timings_.compute_ns += exchange_.compute_ns(rank);
    }
    timings_.more_devices = exchange_.size() - 1;
    made.release_devices();  // the solution needs the memory
    return {};
  }

  PanelExchange& exchange_;
  const Descriptor& routine_;
  const Argument* const arguments_;
  const ColumnDistribution& distribution_;
  CallTimings& timings_;
};

}  // namespace

bool can_be_factored(const Descriptor& routine) {
  constexpr std::string_view kBases[] = {"potrf", "getrf", "geqrf", "posv", "gesv"};
  return std::find(std::begin(kBases), std::end(kBases), routine.base) != std::end(kBases);
}

FactorShape factor_shape(const Descriptor& routine, const Argument* arguments) {
  const auto dim = [&](std::string_view name) {
    return static_cast<std::uint64_t>(arguments[argument_position(routine, name)].dim);
  };
  FactorShape shape;
  shape.n = dim("n");
  const bool square = routine.base.starts_with("po") || routine.base == "gesv";
  shape.m = square ? shape.n : dim("m");
  shape.kind = routine.base.starts_with("po") ? FactorShape::Kind::cholesky
               : routine.base == "geqrf"      ? FactorShape::Kind::qr
                                              : FactorShape::Kind::lu;
  shape.element_bytes = element_bytes(routine.precision);
  shape.complex = is_complex(routine.precision);
  return shape;
}

double factor_bytes_at_once(const Descriptor& routine, const Argument* arguments) {
  const FactorShape shape = factor_shape(routine, arguments);
  double columns = static_cast<double>(shape.n);
  if (routine.base.ends_with("sv")) {
    columns += static_cast<double>(arguments[argument_position(routine, "nrhs")].dim);
  }
  return factor_memory_bytes(shape, 0, 0, 0) +
         shape.element_bytes * static_cast<double>(shape.rows()) * columns;
}

Status offload_factorization(PanelExchange& exchange, const Descriptor& routine,
                             const Argument* arguments, const FactorPlan& plan,
                             CallTimings& timings) {
  const ExchangeModel model = exchange.model();
  const auto distribution = distribute_columns(factor_shape(routine, arguments), model.ranks, plan);
  if (!distribution) {
    return {Code::out_of_memory, "not even a block of " + std::to_string(plan.block) +
                                     " columns fits on the device with two panels"};
  }
  return FactorCall(exchange, routine, arguments, *distribution, timings).run();
}

}  // namespace ob::algorithms
