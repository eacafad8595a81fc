#include "algorithms/fft/large.hpp"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "algorithms/fft/passes.hpp"
#include "algorithms/fft/split.hpp"
#include "algorithms/offload.hpp"
#include "algorithms/strided_copy.hpp"
#include "base/host_scratch.hpp"

namespace ob::algorithms {
namespace {

// The number of retries, each with half as much device memory. Other sessions use the memory, too.
constexpr int kHalvings = 4;

Layout layout_of(const FftArray& array) {
  return Layout::strided(array.data, array.element_bytes, array.dimensions);
}

FftTask task_of(const FftPlan& plan, const FftArray& input, const FftArray& output) {
  FftTask task;
  task.plan = plan;
  task.input = static_cast<std::byte*>(input.data);
  task.output = static_cast<std::byte*>(output.data);
  const bool split = input.element_bytes != element_bytes(plan, true);
  const std::size_t axes = input.dimensions.size() - (split ? 1 : 0);
  for (std::size_t i = 0; i < axes; ++i) {
    const Layout::Dimension& in = input.dimensions[i];
    const Layout::Dimension& out = output.dimensions[i];
    (i + plan.rank < axes ? task.batch : task.transform)
        .push_back({in.count, out.count, in.stride_bytes, out.stride_bytes});
  }
  return task;
}

// Packs one side of the task at `data`.
void pack(FftTask& task, bool input, std::byte* data) {
  (input ? task.input : task.output) = data;
  std::int64_t stride = element_bytes(task.plan, input);
  for (auto* axes : {&task.transform, &task.batch}) {
    for (std::size_t i = axes->size(); i-- > 0;) {
      FftAxis& axis = (*axes)[i];
      (input ? axis.input_stride : axis.output_stride) = stride;
      stride *= static_cast<std::int64_t>(input ? axis.input_count : axis.output_count);
    }
  }
}

void copy_array(const FftArray& array, std::byte* packed, Towards towards) {
  std::array<CopyAxis, Layout::kMaxDimensions> axes;
  std::int64_t stride = array.element_bytes;
  for (std::size_t i = array.dimensions.size(); i-- > 0;) {
    const auto [count, away] = array.dimensions[i];
    axes[i] =
        towards == Towards::packed ? CopyAxis{count, stride, away} : CopyAxis{count, away, stride};
    stride *= static_cast<std::int64_t>(count);
  }
  auto* const data = static_cast<std::byte*>(array.data);
  const std::span used = std::span(axes).first(array.dimensions.size());
  if (towards == Towards::packed) return copy_strided(packed, data, array.element_bytes, used);
  copy_strided(data, packed, array.element_bytes, used);
}

// Runs the task. Retries with smaller parts until they fit in the free memory of the device.
Status run_split(Device& device, QueueId queue, const FftPlanner& planner, const FftTask& task,
                 std::uint64_t budget_bytes, CallTimings& timings) {
  for (int halvings = 0;; ++halvings, budget_bytes /= 2) {
    CallTimings attempt;
    FftPasses passes(device, queue, planner, budget_bytes, attempt);
    FftSplit split(passes);
    const Status status = split.run(task);
    if (status.ok()) timings += attempt;
    if (status.code() != Code::out_of_memory || split.hopeless() || halvings == kHalvings) {
      return status;
    }
  }
}

}  // namespace

bool fits(std::uint64_t memory_bytes, const FftPlan& plan) noexcept {
  const std::uint64_t input = input_bytes(plan);
  const std::uint64_t output = output_bytes(plan);
  if (input > memory_bytes || output > memory_bytes) return false;
  return plan.in_place || input <= memory_bytes - output;
}

bool fits(const Device& device, const FftPlan& plan) noexcept {
  return fits(device.info().memory_bytes, plan);
}

namespace {

Status in_passes(Device& device, QueueId queue, const FftPlanner& planner, const FftCall& call,
                 std::uint64_t budget_bytes, CallTimings& timings) {
  const FftPlan& plan = call.plan;
  const bool gathers = call.input.element_bytes != element_bytes(plan, true);
  const bool scatters = call.in_out || call.output.element_bytes != element_bytes(plan, false);
  const HostScratch operands(gathers ? input_bytes(plan) : 1);
  const HostScratch results(scatters ? output_bytes(plan) : 1);
  if (operands.data() == nullptr || results.data() == nullptr) {
    return {Code::out_of_memory, "no memory for the data of a large transform on this side (" +
                                     std::to_string(output_bytes(plan)) + " bytes)"};
  }
  FftTask task = task_of(plan, call.input, call.output);
  if (gathers) {
    pack(task, true, operands.data());
    copy_array(call.input, operands.data(), Towards::packed);
  }
  if (scatters) pack(task, false, results.data());
  OB_RETURN_IF_ERROR(run_split(device, queue, planner, task, budget_bytes, timings));
  if (scatters) copy_array(call.output, results.data(), Towards::array);
  return {};
}

}  // namespace

Status offload_fft(Device& device, QueueId queue, const FftPlanner& planner, const FftCall& call,
                   CallTimings& timings) {
  const std::uint64_t memory_bytes = device.info().memory_bytes;
  if (!fits(device, call.plan)) {
    return in_passes(device, queue, planner, call, memory_bytes, timings);
  }
  OB_ASSIGN_OR_RETURN(const PlanId id, planner.plan(call.plan));
  CallTimings attempt;
  const Status status = offload_planned_fft(
      device, queue, {id, call.plan, layout_of(call.input), layout_of(call.output), call.in_out},
      attempt);
  if (status.ok()) timings += attempt;
  if (status.code() != Code::out_of_memory) return status;
  return in_passes(device, queue, planner, call, memory_bytes / 2, timings);
}

}  // namespace ob::algorithms
