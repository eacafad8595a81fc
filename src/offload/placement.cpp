#include "offload/placement.hpp"

#include <optional>

#include "algorithms/factor/call.hpp"
#include "offload/clock.hpp"
#include "offload/one_device.hpp"
#include "offload/several_factors.hpp"
#include "offload/split_products.hpp"

namespace ob::offload {
namespace {

Status run_factorization(const Execution& execution, client::AcquiredDevice& acquired,
                         const RoutineCall& call, algorithms::CallTimings& timings) {
  if (auto done = factor_on_several(execution, acquired, call, timings)) return *done;
  Status status = run_on_device(execution, acquired, call, timings);
  if (status.code() != Code::out_of_memory || acquired.device().broken()) return status;
  return factor_with_little(execution, acquired, call, timings);
}

}  // namespace

Status run_placed(const Execution& execution, client::AcquiredDevice& acquired,
                  const RoutineCall& call, algorithms::CallTimings& timings) {
  if (algorithms::can_be_factored(call.routine)) {
    return run_factorization(execution, acquired, call, timings);
  }
  const bool may_split = may_be_split(execution.config, call);
  // The devices that take part, and the size of their parts, change the order of sums.
  if (may_split && !execution.strict()) {
    if (auto done = split_product(execution, acquired, call, timings)) return *done;
  }
  const std::uint64_t began_ns = now_ns();
  Status status = run_on_device(execution, acquired, call, timings);
  if (status.ok() && may_split) record_run_alone(acquired, call, seconds_since(began_ns));
  return status;
}

}  // namespace ob::offload
