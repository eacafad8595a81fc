#include "algorithms/fft/split.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "algorithms/fft/cut.hpp"
#include "base/host_scratch.hpp"

namespace ob::algorithms {
namespace {

// Returns `task` with the transform axes [first, last) only. The other axes join the batch.
FftTask axes_of(const FftTask& task, std::size_t first, std::size_t last) {
  FftTask part = task;
  part.landed = nullptr;
  part.transform.clear();
  part.plan = part_of(task.plan, first, last);
  for (std::size_t i = 0; i < task.transform.size(); ++i) {
    const bool in = i >= first && i < last;
    (in ? part.transform : part.batch).push_back(task.transform[i]);
  }
  return part;
}

// Makes the task read its input from the places of its results, where the task before it wrote.
void make_in_place(FftTask& task) {
  task.input = task.output;
  for (auto* axes : {&task.batch, &task.transform}) {
    for (FftAxis& axis : *axes) {
      axis.input_stride = axis.output_stride;
      axis.input_count = axis.output_count;
    }
  }
}

}  // namespace

namespace detail {

Status no_scratch(std::uint64_t size_bytes) {
  return {Code::out_of_memory, "no memory for " + std::to_string(size_bytes) +
                                   " bytes of a long transform on this side"};
}

}  // namespace detail

bool FftSplit::fits(const FftTask& task) const {
  return transform_bytes(task.plan) <= passes_.largest_bytes();
}

Status FftSplit::run(const FftTask& task) {
  if (fits(task)) return passes_.run(task);
  if (task.plan.rank > 1) {
    return task.plan.kind == FftKind::c2r ? split_backward(task) : split(task);
  }
  switch (task.plan.kind) {
    case FftKind::c2c: return complex_line(task);
    case FftKind::r2c: return real_forward(task);
    case FftKind::c2r: return real_backward(task);
    case FftKind::r2r: return real_to_real(task);
  }
  return {};
}

// Runs the fast dimensions first, from input to output, then the slow ones in place in the output.
Status FftSplit::split(const FftTask& task) {
  const std::size_t cut = cut_of(task.plan, passes_.largest_bytes());
  OB_RETURN_IF_ERROR(run(axes_of(task, cut, task.plan.rank)));
  FftTask slow = axes_of(task, 0, cut);
  make_in_place(slow);
  if (slow.plan.kind == FftKind::r2c) {
    slow.plan.kind = FftKind::c2c;
    slow.plan.sign = -1;
  }
  return run(slow);
}

// Runs a complex-to-real transform: the slow dimensions first, into scratch memory, and the halved
// one last.
Status FftSplit::split_backward(const FftTask& task) {
  const std::size_t cut = cut_of(task.plan, passes_.largest_bytes());
  FftPlan one = task.plan;
  one.batch = 1;
  const HostScratch between(input_bytes(one));
  if (between.data() == nullptr) {
    return detail::no_scratch(input_bytes(one));
  }
  return detail::each_transform(task, [&](const FftTask& item) -> Status {
    FftTask packed = item;  // its input is the scratch memory with the results of the slow ones
    packed.input = between.data();
    std::int64_t stride = element_bytes(task.plan, true);
    for (std::size_t i = packed.transform.size(); i-- > 0;) {
      packed.transform[i].input_stride = stride;
      stride *= static_cast<std::int64_t>(packed.transform[i].input_count);
    }
    FftTask slow = item;
    slow.plan.kind = FftKind::c2c;
    slow.plan.sign = +1;
    slow.output = between.data();
    for (std::size_t i = 0; i < slow.transform.size(); ++i) {
      slow.transform[i].output_stride = packed.transform[i].input_stride;
      slow.transform[i].output_count = slow.transform[i].input_count;
    }
    OB_RETURN_IF_ERROR(run(axes_of(slow, 0, cut)));
    // the halved dimension is not in the batch, where both counts must be equal
    return run(axes_of(packed, cut, task.plan.rank));
  });
}

}  // namespace ob::algorithms
