#include "offload/one_device.hpp"

#include <algorithm>

#include "algorithms/offload.hpp"
#include "algorithms/panels/gemm_pipeline.hpp"
#include "algorithms/panels/panels.hpp"
#include "algorithms/residency/placed_operand.hpp"
#include "algorithms/tiles/tiles.hpp"
#include "offload/call_cut.hpp"
#include "offload/connection_record.hpp"
#include "offload/device_model.hpp"
#include "offload/usable_memory.hpp"

namespace ob::offload {
namespace {

bool fits_at_once(const Device& device, const RoutineCall& call) {
  return fits_in_memory(algorithms::bytes_of_all(call.routine, call.arguments),
                        device.info().memory_bytes);
}

// The schedule of a product that runs in blocks; nullptr if the call runs as a whole.
const algorithms::ProductSchedule* schedule_of(const Execution& execution,
                                               client::AcquiredDevice& acquired,
                                               const RoutineCall& call,
                                               const algorithms::ProductShape& shape) {
  const auto model = model_of(execution, acquired, call);
  if (!model.known()) return nullptr;
  const auto& schedule = ConnectionRecord::of(acquired).schedule(shape, model);
  return schedule.a.size() + schedule.b.size() > 2 ? &schedule : nullptr;
}

std::vector<algorithms::PlacedOperand> unchanged_operands(const RoutineCall& call) {
  std::vector<algorithms::PlacedOperand> found;
  const Operands operands = call.routine.operands(call.arguments);
  for (const Operand& operand : operands.span()) {
    const HostOperand& host = call.arguments[operand.argument].host;
    if (!operand.read || operand.written || operand.consumed || host.data == nullptr) continue;
    found.push_back(algorithms::placed_operand(call.routine, operand, host));
  }
  return found;
}

// The run of one call on one device, in one of several ways.
class DeviceRun {
 public:
  DeviceRun(const Execution& execution, client::AcquiredDevice& acquired, const RoutineCall& call,
            algorithms::CallTimings& timings, const Part& part)
      : execution_(execution),
        acquired_(acquired),
        call_(call),
        timings_(timings),
        part_(part),
        resident_(execution.residents.of(acquired)) {}

  Status run() {
    const bool can_be_tiled = algorithms::can_be_split(call_.routine);
    const bool fits = !can_be_tiled || fits_at_once(acquired_.device(), call_);
    const bool at_once = fits && part_.diagonal.count == 0;
    const Status status = at_once ? run_at_once() : run_in_tiles(fits ? 2 : 1);
    if (status.code() != Code::out_of_memory || acquired_.device().broken()) return status;
    if (resident_ != nullptr) OB_RETURN_IF_ERROR(resident_->release());
    if (!can_be_tiled || acquired_.device().info().memory_bytes == 0) return status;
    // Other users have much of the memory, or buffers take more of it than expected.
    OB_RETURN_IF_ERROR(acquired_.device().drop_cached_buffers());
    timings_ = {};
    return run_in_tiles(kShareAfterExhaustion);
  }

 private:
  Status run_at_once() {
    // The size of panels depends on measurements, which strict mode does not use.
    if (execution_.strict()) return run_whole();
    if (const auto shape = product_to_cut(call_.routine, call_.arguments))
      return run_product(*shape);
    if (const auto shape = panels_to_cut(call_.routine, call_.arguments)) return run_panels(*shape);
    return run_whole();
  }

  algorithms::CallContext context() const {
    return {.device = acquired_.device(),
            .queue = acquired_.queue(),
            .routine = call_.routine,
            .arguments = call_.arguments,
            .timings = timings_,
            .residency = resident_,
            .commits = part_.commits};
  }

  Status run_whole() { return algorithms::offload_call(context()); }

  Status run_product(const algorithms::ProductShape& shape) {
    const algorithms::ProductSchedule* schedule = schedule_of(execution_, acquired_, call_, shape);
    if (schedule == nullptr) return run_whole();
    return algorithms::offload_product(context(), *schedule);
  }

  Status run_panels(const algorithms::PanelShape& shape) {
    const auto model = model_of(execution_, acquired_, call_);
    if (!model.known()) return run_whole();
    const algorithms::PanelSchedule& schedule =
        ConnectionRecord::of(acquired_).schedule(call_.routine, shape, model);
    if (schedule.panels.size() <= 1) return run_whole();
    return algorithms::offload_panels(context(), schedule);
  }

  // Runs the call in tiles, with one part in `share` of the device's memory.
  Status run_in_tiles(unsigned share) {
    const std::uint64_t memory_bytes = acquired_.device().info().memory_bytes / share;
    if (resident_ != nullptr) OB_RETURN_IF_ERROR(resident_->make_room(memory_bytes));
    return algorithms::offload_tiles(context(), part_.diagonal, memory_bytes);
  }

  const Execution& execution_;
  client::AcquiredDevice& acquired_;
  const RoutineCall& call_;
  algorithms::CallTimings& timings_;
  const Part& part_;
  algorithms::Residency* const resident_;
};

}  // namespace

Status run_on_device(const Execution& execution, client::AcquiredDevice& acquired,
                     const RoutineCall& call, algorithms::CallTimings& timings, const Part& part) {
  return DeviceRun(execution, acquired, call, timings, part).run();
}

std::vector<algorithms::PlacedOperand> operands_to_bring(const Execution& execution,
                                                         client::AcquiredDevice& acquired,
                                                         const RoutineCall& call) {
  if (!fits_at_once(acquired.device(), call)) return {};
  if (execution.strict()) return unchanged_operands(call);
  if (const auto shape = product_to_cut(call.routine, call.arguments)) {
    const auto* schedule = schedule_of(execution, acquired, call, *shape);
    if (schedule == nullptr) return unchanged_operands(call);
    return algorithms::product_operands(call.routine, call.arguments, *schedule);
  }
  if (panels_to_cut(call.routine, call.arguments)) return {};
  return unchanged_operands(call);
}

}  // namespace ob::offload
