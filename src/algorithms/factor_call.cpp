#include "algorithms/factor_call.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "algorithms/device_call.hpp"
#include "algorithms/factor_cholesky.hpp"
#include "algorithms/factor_lu.hpp"
#include "algorithms/factor_qr.hpp"
#include "algorithms/factored_solve.hpp"
#include "algorithms/panel_call.hpp"

namespace ob::algorithms {
namespace {

// One call of the program.
class FactorCall {
 public:
  FactorCall(Fabric& fabric, const Descriptor& routine, const Argument* arguments,
             const ColumnDeal& deal, Stages& stages)
      : fabric_(fabric), routine_(routine), arguments_(arguments), deal_(deal), stages_(stages) {}

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
    CholeskyFactorization made(fabric_, {routine_.precision, lower, n, argument("a").host}, deal_);
    OB_RETURN_IF_ERROR(factor(made));
    if (solves() && made.info() == 0) {
      FactoredSolve solve(fabric_, routine_, arguments_);
      const HostOperand factor{made.factor(), static_cast<std::int64_t>(n)};
      OB_RETURN_IF_ERROR(solve.with_cholesky(factor, lower, stages_));
    }
    report(made.commit());
    return {};
  }

  Status lu() {
    const std::uint64_t n = dim("n");
    const std::uint64_t m = solves() ? n : dim("m");
    LuFactorization made(fabric_, {routine_.precision, m, n, argument("a").host}, deal_);
    OB_RETURN_IF_ERROR(factor(made));
    const std::int64_t info = made.complete();
    if (solves() && info == 0) {
      FactoredSolve solve(fabric_, routine_, arguments_);
      const HostOperand factors{made.factors(), static_cast<std::int64_t>(n)};
      OB_RETURN_IF_ERROR(solve.with_lu(factors, made.pivots(), stages_));
    }
    std::memcpy(argument("ipiv").host.data, made.pivots(), std::min(m, n) * sizeof(std::int64_t));
    made.commit();
    report(info);
    return {};
  }

  Status qr() {
    QrFactorization made(fabric_, {routine_.precision, dim("m"), dim("n"), argument("a").host},
                         deal_);
    OB_RETURN_IF_ERROR(factor(made));
    made.commit(argument("tau").host.data);
    report(0);
    return {};
  }

  Status factor(BlockedFactorization& made) {
    OB_RETURN_IF_ERROR(made.run());
    for (std::size_t at = 0; at < fabric_.size(); ++at) {
      const Traffic& traffic = fabric_.traffic(at);
      const bool relays = fabric_.model().route == Route::relay;
      stages_.bytes_to += traffic.sent + (relays ? traffic.received : 0);
      stages_.bytes_between += relays ? 0 : traffic.received;
      stages_.bytes_from += traffic.fetched;
      stages_.compute_ns += fabric_.compute_ns(at);
    }
    stages_.more_devices = fabric_.size() - 1;
    made.release_devices();  // whoever solves needs the memory
    return {};
  }

  Fabric& fabric_;
  const Descriptor& routine_;
  const Argument* const arguments_;
  const ColumnDeal& deal_;
  Stages& stages_;
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

Status offload_factorization(Fabric& fabric, const Descriptor& routine, const Argument* arguments,
                             const FactorPlan& plan, Stages& stages) {
  const FabricModel model = fabric.model();
  const auto deal = deal_columns(factor_shape(routine, arguments), model.ranks, plan);
  if (!deal) {
    return {Code::out_of_memory, "not even a block of " + std::to_string(plan.block) +
                                     " columns fits on the device with two panels"};
  }
  return FactorCall(fabric, routine, arguments, *deal, stages).run();
}

}  // namespace ob::algorithms
