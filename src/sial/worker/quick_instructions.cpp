// The instructions that need neither blocks nor messages, in one loop.

#include "sial/worker/arithmetic.hpp"
#include "sial/worker/worker.hpp"

namespace ob::sial {
namespace {

// The numbers that expressions read and change.
struct Numbers {
  const std::int64_t* int_constants;
  const double* scalar_constants;
  const std::int64_t* indices;
  std::int64_t* ints;
  double* scalars;
};

// Executes an instruction of an expression. Returns false, with nothing changed, if it is another
// one, a rare one, or one that fails.
// @param top of the stack, behind the last value
template <class Value>
bool compute(const Instruction& now, const Numbers& numbers, Value*& top) noexcept {
  std::int64_t result = 0;
  switch (now.op) {
    case Opcode::push_int: (top++)->i = numbers.int_constants[now.a]; return true;
    case Opcode::push_int_variable: (top++)->i = numbers.ints[now.a]; return true;
    case Opcode::push_index: (top++)->i = numbers.indices[now.a]; return true;
    case Opcode::push_scalar: (top++)->s = numbers.scalar_constants[now.a]; return true;
    case Opcode::push_scalar_variable: (top++)->s = numbers.scalars[now.a]; return true;
    case Opcode::int_add:
      if (__builtin_add_overflow(top[-2].i, top[-1].i, &result)) return false;
      break;
    case Opcode::int_subtract:
      if (__builtin_sub_overflow(top[-2].i, top[-1].i, &result)) return false;
      break;
    case Opcode::int_multiply:
      if (__builtin_mul_overflow(top[-2].i, top[-1].i, &result)) return false;
      break;
    case Opcode::compare_ints:
      result = holds(static_cast<Relation>(now.x), top[-2].i, top[-1].i) ? 1 : 0;
      break;
    case Opcode::compare_scalars:
      result = holds(static_cast<Relation>(now.x), top[-2].s, top[-1].s) ? 1 : 0;
      break;
    case Opcode::scalar_add: top[-2].s += top[-1].s; return --top, true;
    case Opcode::scalar_subtract: top[-2].s -= top[-1].s; return --top, true;
    case Opcode::scalar_multiply: top[-2].s *= top[-1].s; return --top, true;
    case Opcode::scalar_divide:
      if (top[-1].s == 0) return false;
      top[-2].s /= top[-1].s;
      return --top, true;
    case Opcode::scalar_negate: top[-1].s = -top[-1].s; return true;
    case Opcode::int_to_scalar: top[-1].s = static_cast<double>(top[-1].i); return true;
    case Opcode::store_int:
      if (!assign_int(static_cast<Assign>(now.x), numbers.ints[now.a], top[-1].i)) return false;
      return --top, true;
    case Opcode::store_scalar:
      assign_scalar(static_cast<Assign>(now.x), numbers.scalars[now.a], top[-1].s);
      return --top, true;
    default: return false;
  }
  top[-2].i = result;
  return --top, true;
}

}  // namespace

// Executes instructions up to one that execute() has to see, or until `last` were executed. What
// would fail is left to execute(), so that there is one place for each error. The place in the
// program and the top of the stack are variables here, because members would be read and written
// again for each instruction.
void Worker::run_quick(std::uint64_t last) {
  const Numbers numbers{program_.int_constants.data(), program_.scalar_constants.data(),
                        values_.data(), ints_.data(), scalars_.data()};
  const Instruction* const code = code_.data();
  const Line* const lines = setting_.last_line != nullptr ? program_.lines.data() : nullptr;
  InstructionCounts* const counts = setting_.report ? counts_.instructions.data() : nullptr;
  std::uint32_t at = at_;
  Value* top = stack_.data() + depth_;
  std::uint64_t executed = instructions_;
  while (executed != last) {
    const Instruction& now = code[at];
    std::uint32_t next = at + 1;
    if (now.op == Opcode::loop_end) {
      if (!begin_plain_iteration()) break;
      next = loops_.back().body;
    } else if (now.op == Opcode::jump) {
      next = now.a;
    } else if (now.op == Opcode::jump_if_false) {
      if ((--top)->i == 0) next = now.a;
    } else if (!compute(now, numbers, top)) {
      break;
    }
    if (lines != nullptr) setting_.last_line->set(lines[at]);
    if (counts != nullptr) ++counts[at].count;
    at = next;
    ++executed;
  }
  at_ = at;
  depth_ = static_cast<std::size_t>(top - stack_.data());
  instructions_ = executed;
}

// Goes on in the innermost loop, if that only sets its index. Returns false, with nothing changed,
// if there is more to do.
bool Worker::begin_plain_iteration() noexcept {
  ActiveLoop& active = loops_.back();
  if (!active.plain || !active.coming.empty() || active.candidate == active.total) return false;
  const std::size_t depth = loops_.size();
  if (store_.ends_with(depth)) return false;
  if (depth <= granted_.size() && !granted_[depth - 1].empty()) return false;
  values_[active.index] = active.lower.front() + static_cast<std::int64_t>(active.candidate++);
  ++active.begun;
  return true;
}

}  // namespace ob::sial
