// Jumps, calls, loops and the division of a pardo's iterations.

#include <algorithm>
#include <limits>
#include <utility>

#include "sial/worker/worker.hpp"

namespace ob::sial {
namespace {

// Iterations of one pardo that have numbers of their own; more than a run can execute.
constexpr unsigned kIterationBits = 40;

}  // namespace

Worker::Step Worker::execute_control() {
  const Instruction& now = instruction();
  switch (now.op) {
    case Opcode::halt: return halt();
    case Opcode::jump: at_ = now.a; return Step::jumped;
    case Opcode::jump_if_false:
      if (pop_int() != 0) return Step::next;
      at_ = now.a;
      return Step::jumped;
    case Opcode::call:
      calls_.emplace_back(at_ + 1, loops_.size());
      at_ = program_.procs[now.a].begin;
      return Step::jumped;
    case Opcode::return_: {
      const auto [address, loops] = calls_.back();
      calls_.pop_back();
      while (loops_.size() > loops) leave_loop();
      at_ = address;
      return Step::jumped;
    }
    case Opcode::stop: return Step::stopped;
    case Opcode::loop_begin: return begin_loop();
    case Opcode::loop_end: return end_iteration();
    case Opcode::loop_exit: {
      const std::uint32_t end = program_.loops[now.a].end;
      leave_loop();
      at_ = end + 1;
      return Step::jumped;
    }
    case Opcode::loop_cycle: at_ = program_.loops[now.a].end; return Step::jumped;
    case Opcode::barrier:
    case Opcode::section_end: return barrier();
    case Opcode::section_begin:
    case Opcode::gpu_on:
    case Opcode::gpu_off: return Step::next;
    default: return fail("internal: an instruction is out of place");
  }
}

Worker::Step Worker::halt() {
  if (!last_barrier_passed_) {
    if (const Step step = barrier(); step != Step::next) return step;
    last_barrier_passed_ = true;
    counts_.run_ns = steady_ns() - begun_ns_;
    fetched_.forget_all();  // counts those that nobody needed
    save_times();
  }
  if (setting_.report && !counts_added_) {
    counts_.memory[rank_] = {store_.peak_bytes(), fetched_.peak_bytes(), open_writes_.peak_bytes()};
    if (const Step step = add_counts(); step != Step::next) return step;
    counts_added_ = true;
  }
  return save();
}

Worker::Step Worker::begin_loop() {
  if (resumes_pardo_) return next_iteration();
  std::optional<ActiveLoop> active = enter(instruction().a);
  if (!active) return Step::failed;
  if (program_.loops[active->loop].kind == LoopKind::pardo) ++pardos_;
  if (active->schedule == Schedule::measured) divide_by_times(*active);
  if (!failure_.empty()) return Step::failed;
  loops_.push_back(std::move(*active));
  return next_iteration();
}

std::optional<ActiveLoop> Worker::enter(std::uint32_t number) {
  const Loop& loop = program_.loops[number];
  ActiveLoop active;
  if (!ended_loops_.empty()) {
    active = std::move(ended_loops_.back());
    ended_loops_.pop_back();
    active.begin_again();
  }
  active.loop = number;
  active.schedule = schedule_of(number);
  active.execution = ++executions_;
  active.total = 1;
  for (const std::uint32_t index : loop.indices) {
    const Index& record = program_.indices[index];
    const bool sub = record.kind == IndexKind::subindex;
    const Layout& layout = setting_.binding->layout;
    const std::int64_t lower = layout.range(index).lower;
    const std::int64_t upper =
        sub ? layout.subsegments(index, values_[record.parent]) : layout.range(index).upper;
    active.lower.push_back(lower);
    active.upper.push_back(upper);
    const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(upper - lower + 1, 0));
    if (count != 0 && active.total > std::numeric_limits<std::uint64_t>::max() / 2 / count) {
      fail("R05 the loop has more iterations than can be counted");
      return std::nullopt;
    }
    active.total *= count;
  }
  active.plain =
      loop.kind != LoopKind::pardo && loop.indices.size() == 1 && loop.begin + 1 == loop.body;
  if (active.plain) active.index = loop.indices.front();
  active.body = loop.body;
  return active;
}

void Worker::set_indices(const ActiveLoop& active, std::uint64_t raw) {
  const Loop& loop = program_.loops[active.loop];
  for (std::size_t i = 0; i < loop.indices.size(); ++i) {  // the first index runs fastest
    const auto count = static_cast<std::uint64_t>(active.upper[i] - active.lower[i] + 1);
    values_[loop.indices[i]] = active.lower[i] + static_cast<std::int64_t>(raw % count);
    raw /= count;
  }
}

// Evaluates the where clauses. Returns nothing after an error.
std::optional<bool> Worker::survives(const Loop& loop) {
  const std::uint32_t before = at_;
  bool all = true;
  for (at_ = loop.begin + 1; at_ < loop.body && all; ++at_) {
    if (instruction().op == Opcode::where) {
      all = pop_int() != 0;
    } else if (const Step step = execute_expression(); step != Step::next) {
      if (step == Step::wait) fail("R01 a where clause cannot wait for a block");
      return std::nullopt;
    }
  }
  at_ = before;
  return all;
}

bool Worker::find_next(ActiveLoop& active) {
  if (active.schedule == Schedule::guided) return find_in_chunk(active);
  const Loop& loop = program_.loops[active.loop];
  for (; active.candidate < active.total; ++active.candidate) {
    active.candidate = narrowing_.next(active, values_, ints_);
    if (active.candidate == active.total) return false;
    set_indices(active, active.candidate);
    const std::optional<bool> survived = narrowing_.complete(active.loop) ? true : survives(loop);
    if (!survived) return false;
    if (!*survived || !is_mine(loop, active)) continue;
    active.coming.push_back(active.candidate++);
    return true;
  }
  return false;
}

Worker::Step Worker::next_iteration() {
  ActiveLoop& active = loops_.back();
  const bool found = !active.coming.empty() || find_next(active);
  if (!failure_.empty()) return Step::failed;
  if (active.schedule == Schedule::guided) {
    ask_for_chunk(active);
    resumes_pardo_ = !found && !active.share.ended;
    if (!failure_.empty()) return Step::failed;
    if (resumes_pardo_) return Step::wait;
  }
  if (!found) return leave_loop();
  const std::uint64_t raw = active.coming.take_front();
  ++active.begun;
  set_indices(active, raw);
  const Loop& loop = program_.loops[active.loop];
  if (loop.kind == LoopKind::pardo) {
    iteration_began_ = schedule_clock();
    iteration_ = (pardos_ << kIterationBits) + raw + 1;
  }
  at_ = loop.body;
  return Step::jumped;
}

// Forgets what belongs to the iteration of the innermost loop.
void Worker::drop_iteration() {
  const std::size_t depth = loops_.size();
  store_.end_iteration(depth);
  if (depth > granted_.size()) return;
  for (const auto& [array, number] : granted_[depth - 1]) {
    if (FetchedBlock* found = fetched_.find(array, number)) found->granted = false;
  }
  granted_[depth - 1].clear();
}

Worker::Step Worker::end_iteration() {
  note_iteration();
  drop_iteration();
  return next_iteration();
}

Worker::Step Worker::leave_loop() {
  drop_iteration();
  const ActiveLoop& active = loops_.back();
  const Loop& loop = program_.loops[active.loop];
  if (loop.kind == LoopKind::pardo) {
    if (active.schedule == Schedule::balanced) pardo_count_ += active.survivors;
    iteration_ = 0;
  }
  at_ = loop.end + 1;
  ended_loops_.push_back(std::move(loops_.back()));
  loops_.pop_back();
  return Step::jumped;
}

}  // namespace ob::sial
