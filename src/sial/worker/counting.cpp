// The counters of a run.

#include "sial/worker/worker.hpp"

namespace ob::sial {
namespace {

// Instructions between two statements that are close in time. To read the clock takes as long as
// several of them.
constexpr std::uint64_t kNear = 4;

}  // namespace

// Counts an operand once, however often the instruction starts again to wait for another one.
void Worker::count_use(FetchedBlock& fetched) {
  fetched_.use(fetched);
  if (operands_++ < operands_counted_) return;
  ++operands_counted_;
  GetCounts& counts = counts_.gets[fetched.access];
  const bool waited = fetched.wait_from_ns != 0 && fetched.arrived_ns > fetched.wait_from_ns;
  ++counts.accesses;
  if (!fetched.used) ++counts.first_uses;
  if (waited) {
    const std::int64_t ns = fetched.arrived_ns - fetched.wait_from_ns;
    ++counts.waits;
    if (!fetched.used) ++counts.first_waits;
    if (counts.accesses == 1) counts.first_ns = ns;
    if (fetched.ahead) {
      ++counts.late;
      look_ahead_.late(fetched.access);
    }
    (fetched.ahead ? counts.late_ns : counts.demand_ns) += ns;
  }
  fetched.wait_from_ns = 0;
  fetched.used = true;
}

// Executes an instruction, and measures it if that costs little beside it.
Worker::Step Worker::execute_counted() {
  InstructionCounts& counts = counts_.instructions[at_];
  const Opcode op = instruction().op;
  const std::uint32_t at = at_;
  const std::uint64_t on_device = counts.on_device;
  const bool measures = op >= Opcode::block_fill || op == Opcode::barrier ||
                        op == Opcode::section_end || op == Opcode::halt ||
                        op == Opcode::push_contraction;
  if (!measures && waits_since_ns_ == 0) {
    const Step step = execute();
    clock_until_ = 0;  // it may have searched for an iteration, or printed
    if (step == Step::wait) {
      waits_since_ns_ = steady_ns();
      if (setting_.trace != nullptr) trace_step({at, 0, waits_since_ns_}, step);
    } else {
      ++counts.count;
    }
    return step;
  }
  // A statement begins where the one before has ended, but for a few cheap instructions.
  const std::int64_t began = instructions_ <= clock_until_ ? clock_ns_ : steady_ns();
  if (waits_since_ns_ != 0) counts.wait_ns += began - waits_since_ns_;
  waits_since_ns_ = 0;
  const Step step = execute();
  const std::int64_t ended = steady_ns();
  counts.ns += ended - began;
  clock_ns_ = ended;
  clock_until_ = instructions_ + kNear;
  if (setting_.trace != nullptr) {
    trace_step({at, began, ended, counts.on_device != on_device}, step);
  }
  if (step == Step::wait) {
    waits_since_ns_ = ended;
  } else {
    ++counts.count;
  }
  return step;
}

// Adds up the counters of all workers.
Worker::Step Worker::add_counts() {
  Message part;
  // Workers that share a device share its traffic: whoever comes first counts it.
  if (setting_.device != nullptr && !contributed_) counts_.device = setting_.device->take_traffic();
  part.numbers = to_numbers(counts_);
  const Step step = collective(Contribution::sum, std::move(part));
  if (step != Step::next) return step;
  from_numbers(result_->numbers, counts_);
  result_.reset();
  return Step::next;
}

}  // namespace ob::sial
