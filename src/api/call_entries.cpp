// The functions of routines and transforms.

#include <array>
#include <string>
#include <utility>

#include "api/handles.hpp"
#include "api/place.hpp"
#include "api/queue_use.hpp"
#include "api/routine_arguments.hpp"
#include "api/sized_struct.hpp"
#include "base/overlap.hpp"
#include "device/host_call.hpp"
#include "routines/descriptor.hpp"

namespace ob::api {
namespace {

// --- routines ------------------------------------------------------------------------------------

// A call in normal form, with its buffers, which it keeps alive.
struct Call {
  const Descriptor* routine = nullptr;
  Argument arguments[kMaxArguments];
  std::array<std::shared_ptr<Buffer>, kMaxArguments> buffers;
};

Outcome set_argument(const ob_operand& operand, std::size_t position, const OpenDevice& device,
                     Call& call) {
  Argument& argument = call.arguments[position];
  if (!is_memory(call.routine->kinds[position])) {
    return set_plain_argument(operand, position, *call.routine, argument);
  }
  const ob_place& place = operand.value.place;
  const std::int64_t ld = has_ld(call.routine->kinds[position]) ? operand.ld : 0;
  argument.device = {BufferId{}, place.offset_bytes, ld};
  if (place.buffer == nullptr) return {};  // allowed where nothing is referred to
  OB_ASSIGN_OR_RETURN(call.buffers[position], buffer_of(place, device));
  argument.device.buffer = call.buffers[position]->id;
  return {};
}

Status check_call(const Call& call) {
  OB_RETURN_IF_ERROR(check_legal(*call.routine, call.arguments));
  const Operands operands = call.routine->operands(call.arguments);
  for (const Operand& operand : operands.span()) {
    const auto& buffer = call.buffers[operand.argument];
    const DeviceOperand& place_in = call.arguments[operand.argument].device;
    const auto bytes = buffer == nullptr ? std::nullopt : std::optional(buffer->size_bytes);
    OB_RETURN_IF_ERROR(check_operand(*call.routine, operand, place_in, bytes));
  }
  return check_overlaps(*call.routine, operands, call.arguments);
}

Outcome submit_call(ob_queue handle, const char* name, const ob_operand* operands,
                    std::size_t count) {
  OB_ASSIGN_OR_RETURN(const QueueUse queue, QueueUse::begin(handle));
  Call call;
  if (Outcome outcome = find_routine(name, count, call.routine); !outcome.ok()) return outcome;
  if (operands == nullptr) return mistake("no operands (the pointer is NULL)");
  Outcome outcome;
  for (std::size_t i = 0; i < count && outcome.ok(); ++i) {
    outcome = set_argument(operands[i], i, *queue->device, call);
  }
  if (outcome.ok()) outcome = check_call(call);
  if (outcome.ok()) {
    outcome = (*queue->device)->call(queue->id, *call.routine, call.arguments);
  }
  if (outcome.ok()) queue->count(call.routine->name);
  outcome.name = call.routine->name;
  return outcome;
}

// --- transforms ----------------------------------------------------------------------------------

Outcome plan_of(const ob_fft& transform, FftPlan& plan) {
  const bool known = transform.kind >= OB_FFT_C2C && transform.kind <= OB_FFT_R2R &&
                     (transform.precision == OB_SINGLE || transform.precision == OB_DOUBLE) &&
                     (transform.in_place == 0 || transform.in_place == 1) &&
                     (transform.sign == -1 || transform.sign == 1) && transform.rank >= 1 &&
                     transform.rank <= FftPlan::kMaxRank;
  if (!known) {
    return mistake(
        "a member of ob_fft is out of range (kind OB_FFT_..., precision OB_SINGLE or "
        "OB_DOUBLE, sign -1 or 1, in_place 0 or 1, rank 1 to 7)");
  }
  plan.kind = static_cast<FftKind>(transform.kind);
  plan.precision = transform.precision == OB_SINGLE ? Precision::c : Precision::z;
  plan.sign = static_cast<std::int8_t>(transform.sign);
  if ((plan.kind == FftKind::r2c && plan.sign != -1) ||
      (plan.kind == FftKind::c2r && plan.sign != 1)) {
    return mistake("the sign of a transform from real data is -1, and to real data 1");
  }
  plan.in_place = transform.in_place == 1;
  plan.rank = static_cast<std::uint8_t>(transform.rank);
  plan.batch = transform.batch;
  for (std::size_t i = 0; i < plan.rank; ++i) {
    plan.n[i] = transform.n[i];
    if (plan.kind != FftKind::r2r) continue;
    if (transform.real[i] < 0 || transform.real[i] > 10) {
      return mistake("the kind of a dimension is FFTW's number, 0 to 10");
    }
    plan.real[i] = static_cast<RealTransform>(transform.real[i]);
  }
  return check_plan(plan);
}

Outcome create_plan(ob_device handle, const ob_fft* transform, ob_plan* made) {
  if (made == nullptr) return mistake("no place for the plan (the pointer is NULL)");
  ob_fft taken{};
  if (Outcome outcome = take(transform, "ob_fft", taken); !outcome.ok()) return outcome;
  FftPlan plan;
  if (Outcome outcome = plan_of(taken, plan); !outcome.ok()) return outcome;
  OB_ASSIGN_OR_RETURN(const DevicePtr device, find<OpenDevice>(handle));
  OB_ASSIGN_OR_RETURN(const PlanId id, (*device)->make_plan(plan));
  *made = add(std::make_shared<Plan>(device, id, plan));
  return {};
}

Outcome check_arrays(const FftPlan& plan, const Buffer& in, const Region& input, const Buffer& out,
                     const Region& output) {
  OB_RETURN_IF_ERROR(check_inside("transform", in, input));
  OB_RETURN_IF_ERROR(check_inside("transform", out, output));
  if ((input.offset_bytes | output.offset_bytes) % real_bytes(plan.precision) != 0) {
    return mistake("an array of a transform is not aligned (its offset is no multiple of " +
                   std::to_string(real_bytes(plan.precision)) + ")");
  }
  const bool same = &in == &out && input.offset_bytes == output.offset_bytes;
  if (same != plan.in_place) {
    return mistake(plan.in_place ? "input and output of an in-place plan differ"
                                 : "input and output of an out-of-place plan are equal");
  }
  if (!same && &in == &out && overlap(input, output)) {
    return mistake("input and output of a transform overlap");
  }
  return {};
}

Outcome execute(ob_plan plan_handle, ob_queue queue_handle, const ob_place& in,
                const ob_place& out) {
  OB_ASSIGN_OR_RETURN(const auto plan, find<Plan>(plan_handle));
  OB_ASSIGN_OR_RETURN(const QueueUse queue, QueueUse::begin(queue_handle));
  if (plan->device != queue->device) {
    return mistake("the plan and the queue are of two devices; make the plan on the queue's");
  }
  OB_ASSIGN_OR_RETURN(const auto source, buffer_of(in, *queue->device));
  OB_ASSIGN_OR_RETURN(const auto target, buffer_of(out, *queue->device));
  const auto array = [](const ob_place& place, std::uint64_t bytes) {
    return Region{.offset_bytes = place.offset_bytes, .rows = bytes, .cols = 1, .ld = bytes};
  };
  Outcome outcome = check_arrays(plan->shape, *source, array(in, input_bytes(plan->shape)), *target,
                                 array(out, output_bytes(plan->shape)));
  if (!outcome.ok()) return outcome;
  OB_RETURN_IF_ERROR((*queue->device)
                         ->execute(queue->id, plan->id, {source->id, in.offset_bytes},
                                   {target->id, out.offset_bytes}));
  queue->count();
  return {};
}

}  // namespace
}  // namespace ob::api

using namespace ob::api;  // NOLINT(google-build-using-namespace): exported C functions only

OB_EXPORT ob_status ob_call(ob_queue queue, const char* routine, const ob_operand* operands,
                            size_t count) {
  return answer([&] { return submit_call(queue, routine, operands, count); });
}

OB_EXPORT ob_status ob_plan_create(ob_device device, const ob_fft* transform, ob_plan* plan) {
  return answer([&] { return create_plan(device, transform, plan); });
}

OB_EXPORT ob_status ob_plan_destroy(ob_plan plan) {
  return answer([&]() -> Outcome { return take<Plan>(plan).status(); });
}

OB_EXPORT ob_status ob_plan_execute(ob_plan plan, ob_queue queue, ob_place in, ob_place out) {
  return answer([&] { return execute(plan, queue, in, out); });
}
