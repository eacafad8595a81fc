#include <algorithm>
#include <optional>
#include <vector>

#include "sial/code/instruction_table.hpp"
#include "sial/code/load_problem.hpp"
#include "sial/code/verify.hpp"

namespace ob::sial {
namespace {

// Real programs bind a dozen indices at once and have some hundred calls. These limits keep the
// check of a hostile file short.
constexpr std::size_t kMostBound = 256;
constexpr std::uint64_t kMostSteps = 100'000'000;

// Sorted lists of indices.
using IndexSet = std::vector<std::uint32_t>;

// Facts about the places from which a proc is called.
struct CallContext {
  bool called = false;  // from code that can be reached
  bool in_pardo = false;
  IndexSet surely_bound;  // at all calls
  IndexSet maybe_bound;   // at some call
};

// Returns the procs in an order in which callers stand before the procs that they call; nothing if
// there is recursion.
std::optional<std::vector<std::uint32_t>> order_of_calls(const Program& program,
                                                         std::uint32_t& recursive) {
  std::vector<std::uint32_t> callers(program.procs.size());
  for (const Instruction& instruction : program.code)
    if (instruction.op == Opcode::call) ++callers[instruction.a];
  std::vector<std::uint32_t> order;
  for (std::uint32_t proc = 0; proc < callers.size(); ++proc)
    if (callers[proc] == 0) order.push_back(proc);
  for (std::size_t done = 0; done < order.size(); ++done) {
    const Proc& proc = program.procs[order[done]];
    for (std::uint32_t at = proc.begin; at < proc.end; ++at) {
      const Instruction& instruction = program.code[at];
      if (instruction.op == Opcode::call && --callers[instruction.a] == 0)
        order.push_back(instruction.a);
    }
  }
  if (order.size() == program.procs.size()) return order;
  recursive = static_cast<std::uint32_t>(
      std::find_if(callers.begin(), callers.end(), [](auto left) { return left != 0; }) -
      callers.begin());
  return {};
}

// Returns whether all workers must execute an operation together.
bool is_joint(Opcode op) {
  switch (op) {
    case Opcode::barrier:
    case Opcode::section_begin:
    case Opcode::section_end:
    case Opcode::delete_:
    case Opcode::collective_scalar:
    case Opcode::collective_int:
    case Opcode::collective_static:
    case Opcode::assert_same_scalar:
    case Opcode::assert_same_int:
    case Opcode::assert_same_static:
    case Opcode::broadcast_static:
    case Opcode::set_persistent:
    case Opcode::restore_persistent: return true;
    default: return false;
  }
}

class BindingCheck {
 public:
  BindingCheck(const Program& program, const Structure& structure, const std::string& file)
      : program_(program),
        structure_(structure),
        file_(file),
        contexts_(program.procs.size()),
        surely_(program.indices.size()),
        maybe_(program.indices.size()) {}

  Status check() {
    std::uint32_t recursive = 0;
    const auto order = order_of_calls(program_, recursive);
    if (!order) {
      return bad_file(file_, "procs call each other without end",
                      "proc " + program_.procs[recursive].name + " is among them or called there");
    }
    contexts_[0].called = true;
    for (const std::uint32_t proc : *order) {
      if (contexts_[proc].called) OB_RETURN_IF_ERROR(check_proc(proc));
      contexts_[proc] = {};  // its callees have what they need
    }
    return {};
  }

 private:
  Status refuse(std::uint32_t at, const std::string& problem, const std::string& why) const {
    return bad_instruction(program_, file_, at, problem, why);
  }

  // Goes through a proc with the bindings of its callers and of the loops that are open.
  Status check_proc(std::uint32_t number) {
    const CallContext& context = contexts_[number];
    mark(context, true);
    const Proc& proc = program_.procs[number];
    Status outcome;
    for (std::uint32_t at = proc.begin; outcome.ok() && at < proc.end; ++at)
      outcome = check_instruction(at, context);
    mark(context, false);
    return outcome;
  }

  void mark(const CallContext& context, bool bound) {
    for (const std::uint32_t index : context.surely_bound) surely_[index] = bound;
    for (const std::uint32_t index : context.maybe_bound) maybe_[index] = bound;
  }

  bool in_pardo(std::uint32_t at, const CallContext& context) const {
    const std::uint32_t loop = structure_.loop_of[at];
    return context.in_pardo || (loop != kNone && structure_.in_pardo[loop]);
  }

  Status check_instruction(std::uint32_t at, const CallContext& context) {
    const Instruction& instruction = program_.code[at];
    const bool reachable = structure_.reachable[at];
    // Loops bind and unbind in code that is not reachable too, so that the marks stay right.
    if (instruction.op == Opcode::loop_begin) return begin_loop(at, context);
    if (instruction.op == Opcode::loop_end) {
      for (const std::uint32_t index : program_.loops[instruction.a].indices) {
        surely_[index] = maybe_[index] = false;
        open_.pop_back();
      }
      return {};
    }
    if (!reachable) return {};
    if (is_joint(instruction.op) && in_pardo(at, context))
      return refuse(at, "lies in a pardo", "all workers execute it together");
    if (instruction.op == Opcode::call) return call(at, context);
    const InstructionRow& row = *find_row(instruction.op);
    OB_RETURN_IF_ERROR(check_operand(at, row.a, instruction.a));
    OB_RETURN_IF_ERROR(check_operand(at, row.b, instruction.b));
    return check_operand(at, row.c, instruction.c);
  }

  Status begin_loop(std::uint32_t at, const CallContext& context) {
    const Loop& loop = program_.loops[program_.code[at].a];
    const bool reachable = structure_.reachable[at];
    if (reachable && loop.kind == LoopKind::pardo && in_pardo(at, context))
      return refuse(at, "lies in a pardo", "pardos are not nested");
    for (const std::uint32_t number : loop.indices) {
      const Index& index = program_.indices[number];
      if (maybe_[number])
        return refuse(at, "binds index " + index.name + " again",
                      "a loop around it, or around a "
                      "call of its proc, has bound it");
      if (reachable && index.kind == IndexKind::subindex && !surely_[index.parent])
        return refuse(at, "runs over subindex " + index.name,
                      "its parent " + program_.indices[index.parent].name + " is not bound");
      surely_[number] = maybe_[number] = true;
      open_.push_back(number);
    }
    if (open_.size() + context.surely_bound.size() > kMostBound)
      return refuse(at, "binds too many indices",
                    std::to_string(kMostBound) + " can be bound at once");
    return {};
  }

  Status call(std::uint32_t at, const CallContext& from) {
    CallContext& to = contexts_[program_.code[at].a];
    IndexSet here = open_;
    std::sort(here.begin(), here.end());
    IndexSet surely, maybe, both;
    std::set_union(here.begin(), here.end(), from.surely_bound.begin(), from.surely_bound.end(),
                   std::back_inserter(surely));
    std::set_union(here.begin(), here.end(), from.maybe_bound.begin(), from.maybe_bound.end(),
                   std::back_inserter(maybe));
    std::set_union(maybe.begin(), maybe.end(), to.maybe_bound.begin(), to.maybe_bound.end(),
                   std::back_inserter(both));
    steps_ += 2 * surely.size() + maybe.size() + both.size() + 1;
    stored_ += both.size() - to.maybe_bound.size();
    if (steps_ > kMostSteps || stored_ > kMostSteps / 10)
      return refuse(at, "is one call too many", "the calls of this program are too many to check");
    if (to.called) {
      IndexSet common;
      std::set_intersection(surely.begin(), surely.end(), to.surely_bound.begin(),
                            to.surely_bound.end(), std::back_inserter(common));
      surely = std::move(common);
    }
    to.surely_bound = std::move(surely);
    to.maybe_bound = std::move(both);
    to.in_pardo |= in_pardo(at, from);
    to.called = true;
    return {};
  }

  Status check_operand(std::uint32_t at, Operand sort, std::uint32_t number) const {
    if (sort == Operand::index) return check_bound(at, number);
    if (sort < Operand::block || sort > Operand::temp_block) return {};
    for (const Selected& selected : program_.selectors[number].dimensions)
      if (selected.index != kNone) OB_RETURN_IF_ERROR(check_bound(at, selected.index));
    return {};
  }

  Status check_bound(std::uint32_t at, std::uint32_t index) const {
    if (surely_[index]) return {};
    return refuse(at, "uses index " + program_.indices[index].name,
                  "no loop around it, or around a call of its proc, binds it");
  }

  const Program& program_;
  const Structure& structure_;
  const std::string& file_;
  std::vector<CallContext> contexts_;  // per proc
  std::vector<bool> surely_, maybe_;   // per index, at the present instruction
  IndexSet open_;                      // indices of the open loops of the present proc, not sorted
  std::uint64_t steps_ = 0;            // elements of sets that calls went through
  std::uint64_t stored_ = 0;           // elements of maybe_bound in all contexts
};

}  // namespace

Status verify_bindings(const Program& program, const Structure& structure,
                       const std::string& file) {
  return BindingCheck(program, structure, file).check();
}

}  // namespace ob::sial
