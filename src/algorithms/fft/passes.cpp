#include "algorithms/fft/passes.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "algorithms/device_buffer.hpp"
#include "algorithms/strided_copy.hpp"
#include "base/layout.hpp"

namespace ob::algorithms {
namespace {

using Clock = std::chrono::steady_clock;

// Larger pieces gain nothing: they make the first and the last transfer longer, which do not
// overlap with other work.
constexpr std::uint64_t kPieceBytes = std::uint64_t{64} << 20;
// Contiguous runs of at least this size are transferred directly from and to the caller's array.
constexpr std::uint64_t kDirectBytes = 4096;

std::uint64_t whole_units(std::uint64_t size_bytes) {
  return size_bytes / kAllocationUnitBytes * kAllocationUnitBytes;
}

std::uint64_t ns_since(Clock::time_point from) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - from).count());
}

// Lists element count and stride of all axes of one side of a task, slowest first.
std::vector<Layout::Dimension> side(const FftTask& task, bool input) {
  std::vector<Layout::Dimension> dimensions;
  for (const auto* axes : {&task.batch, &task.transform}) {
    for (const FftAxis& axis : *axes) {
      const std::uint64_t count = input ? axis.input_count : axis.output_count;
      if (count != 1) dimensions.push_back({count, input ? axis.input_stride : axis.output_stride});
    }
  }
  return dimensions;
}

// Returns the array's layout if a direct transfer with it is efficient.
std::optional<Layout> direct(const FftTask& task, bool input) {
  const auto dimensions = side(task, input);
  if (dimensions.size() > Layout::kMaxDimensions) return std::nullopt;
  const Layout layout = Layout::strided(input ? task.input : task.output,
                                        element_bytes(task.plan, input), dimensions);
  if (layout.piece_bytes() < kDirectBytes && !layout.contiguous()) return std::nullopt;
  return layout;
}

void move(const FftTask& task, bool input, std::byte* packed, Towards towards) {
  const auto dimensions = side(task, input);
  const std::uint32_t element = element_bytes(task.plan, input);
  std::vector<CopyAxis> axes(dimensions.size());
  std::int64_t stride = element;
  for (std::size_t i = dimensions.size(); i-- > 0;) {
    const auto [count, away] = dimensions[i];
    axes[i] =
        towards == Towards::packed ? CopyAxis{count, stride, away} : CopyAxis{count, away, stride};
    stride *= static_cast<std::int64_t>(count);
  }
  if (towards == Towards::packed) {
    copy_strided(packed, task.input, element, axes);
  } else {
    copy_strided(task.output, packed, element, axes);
  }
}

}  // namespace

// Iterates over the pieces of a task.
class FftPasses::Pieces {
 public:
  Pieces(const FftTask& task, std::uint64_t most) : task_(task), index_(task.batch.size()) {
    cut_ = task.batch.size();
    while (cut_ > 0 && task.batch[cut_ - 1].input_count <= most / inner_) {
      inner_ *= task.batch[--cut_].input_count;
    }
    if (cut_ == 0) return;  // all at once
    --cut_;
    step_ = most / inner_;
  }

  bool done() const { return done_; }

  Piece next() {
    Piece piece{task_, 0, inner_};
    FftTask& part = piece.task;
    if (step_ == 0) {  // all transforms at once
      done_ = true;
      piece.count = task_.batch.empty() ? 1 : task_.batch[0].input_count;
      part.plan.batch = inner_;
      return piece;
    }
    const std::uint64_t length = task_.batch[cut_].input_count;
    piece.first = index_[cut_];
    piece.count = std::min(step_, length - piece.first);
    part.plan.batch = piece.count * inner_;
    for (std::size_t i = 0; i <= cut_; ++i) {
      part.input += static_cast<std::int64_t>(index_[i]) * task_.batch[i].input_stride;
      part.output += static_cast<std::int64_t>(index_[i]) * task_.batch[i].output_stride;
    }
    part.batch.erase(part.batch.begin(), part.batch.begin() + static_cast<std::ptrdiff_t>(cut_));
    part.batch[0].input_count = part.batch[0].output_count = piece.count;
    advance(piece.count);
    return piece;
  }

 private:
  void advance(std::uint64_t count) {
    index_[cut_] += count;
    for (std::size_t i = cut_; index_[i] == task_.batch[i].input_count; --i) {
      if (i == 0) {
        done_ = true;
        return;
      }
      index_[i] = 0;
      ++index_[i - 1];
    }
  }

  const FftTask& task_;
  std::size_t cut_ = 0;
  std::uint64_t inner_ = 1;  // transforms per index of the axis that is cut
  std::uint64_t step_ = 0;   // 0: nothing is cut
  std::vector<std::uint64_t> index_;
  bool done_ = false;
};

FftPasses::FftPasses(Device& device, QueueId queue, const FftPlanner& planner,
                     std::uint64_t budget_bytes, CallTimings& timings)
    : device_(device), planner_(planner), budget_bytes_(budget_bytes), timings_(timings) {
  slots_[0].queue = queue;
}

FftPasses::~FftPasses() {
  try {
    for (Slot& slot : slots_) {
      if (slot.busy) (void)device_.synchronize(slot.queue);
    }
    if (own_queue_) (void)device_.destroy_queue(own_queue_);
  } catch (...) {  // no memory for waiting: the caller stops using the device
  }
}

std::uint64_t FftPasses::largest_bytes(std::uint64_t budget_bytes) noexcept {
  return whole_units(budget_bytes);
}

Status FftPasses::run(const FftTask& task) {
  const Clock::time_point began = Clock::now();
  const CallTimings before = timings_;
  const std::uint64_t each = transform_bytes(task.plan);
  const std::uint64_t half = whole_units(budget_bytes_ / 2);
  const bool single = each > half;
  const std::uint64_t slot_bytes = single ? each : std::min(half, std::max(kPieceBytes, each));
  Status status = run_all(task, slot_bytes, single ? 1 : 2);
  if (!status.ok()) {
    for (Slot& slot : slots_) {
      if (std::exchange(slot.busy, false)) status = settle(device_, slot.queue, status);
    }
    return status;
  }
  // the time that is neither sending nor planning nor computing nor waiting is for results
  const std::uint64_t named = timings_.to_server_ns - before.to_server_ns + timings_.plan_ns -
                              before.plan_ns + timings_.compute_ns - before.compute_ns +
                              timings_.waited_ns - before.waited_ns;
  const std::uint64_t all = ns_since(began);
  timings_.from_server_ns += all - std::min(all, named);
  return {};
}

Status FftPasses::run_all(const FftTask& task, std::uint64_t slot_bytes, std::size_t slots) {
  if (slots > 1 && !own_queue_) {
    OB_ASSIGN_OR_RETURN(own_queue_, device_.create_queue());
    slots_[1].queue = own_queue_;
  }
  // the buffers of an earlier task may leave too little memory
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (i < slots && slots_[i].capacity_bytes <= slot_bytes) continue;
    slots_[i].buffer.reset();
    slots_[i].capacity_bytes = 0;
  }
  std::size_t turn = 0;
  Pieces pieces(task, slot_bytes / transform_bytes(task.plan));
  while (!pieces.done()) {
    Slot& slot = slots_[turn++ % slots];
    OB_RETURN_IF_ERROR(finish(slot));
    slot.piece = pieces.next();
    OB_RETURN_IF_ERROR(start(slot, slot_bytes));
  }
  for (std::size_t i = 0; i < slots; ++i) OB_RETURN_IF_ERROR(finish(slots_[turn++ % slots]));
  return {};
}

Status FftPasses::reserve(Slot& slot, std::uint64_t size_bytes) {
  if (slot.capacity_bytes >= size_bytes) return {};
  slot.buffer.reset();
  slot.capacity_bytes = 0;
  OB_RETURN_IF_ERROR(slot.buffer.emplace(device_).allocate(size_bytes));
  slot.capacity_bytes = size_bytes;
  return {};
}

Result<std::byte*> FftPasses::stage(Slot& slot, std::uint64_t size_bytes) {
  if (slot.staging_bytes < size_bytes) {
    slot.staging.reset();
    slot.staging_bytes = 0;
    slot.staging.emplace(size_bytes);
    if (slot.staging->data() == nullptr) {
      return Status(Code::out_of_memory, "no memory for " + std::to_string(size_bytes) +
                                             " bytes of a transform on this side");
    }
    slot.staging_bytes = size_bytes;
  }
  return slot.staging->data();
}

Status FftPasses::start(Slot& slot, std::uint64_t slot_bytes) {
  const Clock::time_point began = Clock::now();
  FftPlan plan = slot.piece.task.plan;
  plan.in_place = true;
  slot.piece.task.plan = plan;
  OB_RETURN_IF_ERROR(reserve(slot, slot_bytes));  // all of one size: later tasks reuse them
  OB_ASSIGN_OR_RETURN(const PlanId id, planner_.plan(plan));
  slot.view = device_.host_view(slot.buffer->id());
  slot.busy = true;
  OB_RETURN_IF_ERROR(submit(slot, id));
  if (planner_.flush) OB_RETURN_IF_ERROR(planner_.flush());
  timings_.bytes_to += input_bytes(plan);
  timings_.to_server_ns += ns_since(began);
  return {};
}

Status FftPasses::submit(Slot& slot, PlanId plan) {
  const FftTask& task = slot.piece.task;
  const BufferId buffer = slot.buffer->id();
  const std::uint64_t sent_bytes = input_bytes(task.plan);
  const std::uint64_t received_bytes = output_bytes(task.plan);
  const Region to = line(sent_bytes, task.plan.precision);
  const Region from = line(received_bytes, task.plan.precision);
  if (slot.view != nullptr) {
    move(task, true, slot.view, Towards::packed);
  } else if (const auto layout = direct(task, true)) {
    OB_RETURN_IF_ERROR(device_.write(slot.queue, buffer, to, *layout));
  } else {
    OB_ASSIGN_OR_RETURN(std::byte * staged, stage(slot, std::max(sent_bytes, received_bytes)));
    move(task, true, staged, Towards::packed);
    OB_RETURN_IF_ERROR(device_.write(slot.queue, buffer, to, Layout::bytes(staged, sent_bytes)));
  }
  OB_RETURN_IF_ERROR(device_.execute(slot.queue, plan, {buffer, 0}, {buffer, 0}));
  slot.staged_output = false;
  if (slot.view != nullptr) return {};
  if (const auto layout = direct(task, false)) {
    return device_.read(slot.queue, buffer, from, *layout);
  }
  OB_ASSIGN_OR_RETURN(std::byte * staged, stage(slot, std::max(sent_bytes, received_bytes)));
  slot.staged_output = true;
  return device_.read(slot.queue, buffer, from, Layout::bytes(staged, received_bytes));
}

Status FftPasses::finish(Slot& slot) {
  if (!slot.busy) return {};
  const QueueReport report = device_.synchronize(slot.queue);
  slot.busy = false;
  OB_RETURN_IF_ERROR(report.status);
  const Piece& piece = slot.piece;
  if (slot.view != nullptr) {
    move(piece.task, false, slot.view, Towards::array);
  } else if (slot.staged_output) {
    move(piece.task, false, slot.staging->data(), Towards::array);
  }
  if (piece.task.landed) piece.task.landed(piece.first, piece.count);
  timings_.bytes_from += output_bytes(piece.task.plan);
  timings_.plan_ns += report.plan_ns;
  timings_.compute_ns += report.compute_ns;
  timings_.waited_ns += report.waited_ns;
  return {};
}

}  // namespace ob::algorithms
