#include "algorithms/factor_call.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "algorithms/device_call.hpp"
#include "algorithms/factor_cholesky.hpp"
#include "algorithms/factor_lu.hpp"
#include "algorithms/factor_qr.hpp"
#include "algorithms/offload.hpp"
#include "algorithms/panel_call.hpp"

namespace ob::algorithms {
namespace {

// One call of the program.
class FactorCall {
 public:
  FactorCall(Fabric& fabric, const Descriptor& routine, const Argument* arguments,
             std::uint64_t block, Stages& stages)
      : fabric_(fabric), routine_(routine), arguments_(arguments), block_(block), stages_(stages) {}

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
    CholeskyFactorization made(fabric_, {routine_.precision, lower, n, argument("a").host}, block_);
    OB_RETURN_IF_ERROR(factor(made));
    if (solves() && made.info() == 0) {
      CallArguments solve;
      solve.items[0] = argument("uplo");
      solve.items[1] = argument("n");
      solve.items[2] = argument("nrhs");
      solve.items[3].host = {made.factor(), static_cast<std::int64_t>(n)};
      OB_RETURN_IF_ERROR(this->solve("potrs", solve, 4));
    }
    report(made.commit());
    return {};
  }

  Status lu() {
    const std::uint64_t n = dim("n");
    const std::uint64_t m = solves() ? n : dim("m");
    LuFactorization made(fabric_, {routine_.precision, m, n, argument("a").host}, block_);
    OB_RETURN_IF_ERROR(factor(made));
    const std::int64_t info = made.complete();
    if (solves() && info == 0) {
      CallArguments solve;
      solve.items[0].flag = 'N';
      solve.items[1] = argument("n");
      solve.items[2] = argument("nrhs");
      solve.items[3].host = {made.factors(), static_cast<std::int64_t>(n)};
      solve.items[4].host = {made.pivots(), 0};
      OB_RETURN_IF_ERROR(this->solve("getrs", solve, 5));
    }
    std::memcpy(argument("ipiv").host.data, made.pivots(), std::min(m, n) * sizeof(std::int64_t));
    made.commit();
    report(info);
    return {};
  }

  Status qr() {
    QrFactorization made(fabric_, {routine_.precision, dim("m"), dim("n"), argument("a").host},
                         block_);
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
      stages_.bytes_from += traffic.fetched;
      stages_.compute_ns += fabric_.compute_ns(at);
    }
    stages_.more_devices = fabric_.size() - 1;
    return {};
  }

  // X from B, with the factors that lie here, on the first device: n^2 operations per column. B
  // itself is replaced when nothing can fail any more: offload_call() does so last, and all else
  // that the call changes follows without errors.
  Status solve(std::string_view base, CallArguments& arguments, std::size_t next) {
    const Descriptor* routine = routine_of(base, routine_.precision);
    if (routine == nullptr) return {Code::unsupported, "a routine is not in the table"};
    std::int64_t info = 0;
    arguments.items[next] = argument("b");
    arguments.items[next + 1].host = {&info, 0};
    Stages stages;
    OB_RETURN_IF_ERROR(
        offload_call(fabric_.device(0), fabric_.compute(0), *routine, arguments.items, stages));
    stages_ += stages;
    return {};
  }

  Fabric& fabric_;
  const Descriptor& routine_;
  const Argument* const arguments_;
  const std::uint64_t block_;
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

Status offload_factorization(Fabric& fabric, const Descriptor& routine, const Argument* arguments,
                             std::uint64_t block, Stages& stages) {
  return FactorCall(fabric, routine, arguments, block, stages).run();
}

}  // namespace ob::algorithms
