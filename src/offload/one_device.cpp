#include "offload/one_device.hpp"

#include <algorithm>

#include "algorithms/offload.hpp"
#include "algorithms/panels/gemm_pipeline.hpp"
#include "algorithms/panels/panel_pipeline.hpp"
#include "algorithms/tiles/products_split.hpp"
#include "algorithms/tiles/tiles.hpp"
#include "offload/accuracy.hpp"
#include "offload/residents.hpp"

namespace ob::offload {
namespace {

// What is cut: with a shorter edge it is over before a second panel could be sent.
constexpr std::uint64_t kLeastPipelined = 512;
// Of memory that the operands of a call do not get, and what it does with when memory ran out.
constexpr std::uint64_t kSpareBytes = 64 << 10;
constexpr unsigned kShareOfLittle = 4;

// The edge that stays whole only has to be as long as that of a tile which runs at the device's
// rate: cutting the other one does not make it shorter. Either operand of one_side may be cut.
bool is_cut(const algorithms::PanelShape& shape) noexcept {
  const bool one_side = shape.form == algorithms::PanelShape::Form::one_side;
  const std::uint64_t cut = one_side ? std::max(shape.order, shape.length) : shape.order;
  return cut >= kLeastPipelined && std::min(shape.order, shape.length) >= algorithms::kLeastEdge;
}

bool is_cut(const algorithms::ProductShape& shape) noexcept {
  return std::min({shape.m, shape.n, shape.k}) >= kLeastPipelined;
}

std::optional<algorithms::ProductShape> product(const Descriptor& routine,
                                                const Argument* arguments) {
  if (routine.base != "gemm") return std::nullopt;
  const algorithms::ProductShape shape = algorithms::product_shape(routine, arguments);
  return is_cut(shape) ? std::optional(shape) : std::nullopt;
}

std::optional<algorithms::PanelShape> panels(const Descriptor& routine, const Argument* arguments) {
  const auto shape = algorithms::panel_shape(routine, arguments);
  return shape && is_cut(*shape) ? shape : std::nullopt;
}

}  // namespace

double device_share(const Descriptor& routine) noexcept {
  const bool single = routine.precision == Precision::s || routine.precision == Precision::c;
  return (single ? 2.0 : 1.0) * routine.efficiency;
}

algorithms::PipelineModel model_of(State& state, const client::AcquiredDevice& acquired,
                                   const Descriptor& routine, const Argument* arguments) {
  const Link link = state.pool.link(acquired.server());
  const double seen = state.routine(routine).remote.rate(routine.flops(arguments));
  const double told = acquired.device().info().gflops_double * 1e9 * device_share(routine);
  return {.to_bytes_per_s = link.to_bytes_per_s,
          .from_bytes_per_s = link.from_bytes_per_s,
          .message_s = algorithms::kMessageSeconds,
          .fetch_s = algorithms::kFetchSeconds,
          .flop_per_s = seen > 0 ? seen : told,
          .call_s = algorithms::kCallSeconds,
          .submit_s = algorithms::kSubmitSeconds};
}

std::optional<double> bytes_in_panels(const Descriptor& routine,
                                      const Argument* arguments) noexcept {
  if (const auto shape = product(routine, arguments)) return algorithms::bytes_sent(*shape);
  if (const auto shape = panels(routine, arguments)) return algorithms::bytes_sent(*shape);
  return std::nullopt;
}

namespace {

// All operands at once; devices count memory in units, and others have some of it.
bool fits_at_once(const Device& device, const Descriptor& routine, const Argument* arguments) {
  const std::uint64_t memory_bytes = device.info().memory_bytes;
  const std::uint64_t spare_bytes = std::min(memory_bytes / 8, kSpareBytes);
  return algorithms::bytes_of_all(routine, arguments) <=
         static_cast<double>(memory_bytes - spare_bytes);
}

// With a part of the device's memory: one in `share`.
Status offload_tiles(client::AcquiredDevice& acquired, const Descriptor& routine,
                     const Argument* arguments, algorithms::Residency* resident, unsigned share,
                     algorithms::CallTimings& timings, const Part& part) {
  Device& device = acquired.device();
  const std::uint64_t memory_bytes = device.info().memory_bytes / share;
  if (resident != nullptr) OB_RETURN_IF_ERROR(resident->make_room(memory_bytes));
  return algorithms::offload_tiles(device, acquired.queue(), routine, arguments, part.diagonal,
                                   memory_bytes, timings, part.commits);
}

Status offload_at_once(State& state, client::AcquiredDevice& acquired, const Descriptor& routine,
                       const Argument* arguments, algorithms::Residency* resident,
                       algorithms::CallTimings& timings, algorithms::Commits* commits) {
  Device& device = acquired.device();
  // How panels are cut follows what was measured.
  const bool strict = accuracy_now(state.config) == Accuracy::strict;
  if (strict) {
    return algorithms::offload_call(device, acquired.queue(), routine, arguments, timings, resident,
                                    commits);
  }
  if (const auto shape = product(routine, arguments)) {
    if (const auto model = model_of(state, acquired, routine, arguments); model.known()) {
      const algorithms::ProductSchedule& schedule = schedule_of(acquired, *shape, model);
      if (schedule.a.size() + schedule.b.size() > 2) {
        return algorithms::offload_product(device, acquired.queue(), routine, arguments, schedule,
                                           resident, timings, commits);
      }
    }
  } else if (const auto panel_shape = panels(routine, arguments)) {
    if (const auto model = model_of(state, acquired, routine, arguments); model.known()) {
      const algorithms::PanelSchedule& schedule =
          schedule_of(acquired, routine, *panel_shape, model);
      if (schedule.panels.size() > 1) {
        return algorithms::offload_panels(device, acquired.queue(), routine, arguments, schedule,
                                          resident, timings, commits);
      }
    }
  }
  return algorithms::offload_call(device, acquired.queue(), routine, arguments, timings, resident,
                                  commits);
}

}  // namespace

Status offload(State& state, client::AcquiredDevice& acquired, const Descriptor& routine,
               const Argument* arguments, algorithms::CallTimings& timings, const Part& part) {
  algorithms::Residency* resident = residency_of(state, acquired);
  const bool can_be_tiled = algorithms::can_be_split(routine);
  const bool fits = !can_be_tiled || fits_at_once(acquired.device(), routine, arguments);
  Status status;
  if (fits && part.diagonal.count == 0) {
    status = offload_at_once(state, acquired, routine, arguments, resident, timings, part.commits);
  } else {
    const unsigned share = fits ? 2 : 1;
    status = offload_tiles(acquired, routine, arguments, resident, share, timings, part);
  }
  if (status.code() != Code::out_of_memory || acquired.device().broken()) return status;
  if (resident != nullptr) OB_RETURN_IF_ERROR(resident->release());
  if (!can_be_tiled || acquired.device().info().memory_bytes == 0) return status;
  // Others have much of the memory, or more buffers lie there than it seemed: with little, then.
  OB_RETURN_IF_ERROR(acquired.device().drop_cached_buffers());
  timings = {};
  return offload_tiles(acquired, routine, arguments, resident, kShareOfLittle, timings, part);
}

}  // namespace ob::offload
