#include "sial/code/walk.hpp"

#include <vector>

#include "sial/code/instruction_table.hpp"

namespace ob::test {
namespace {

using namespace ob::sial;
using Op = Opcode;

class Walker {
 public:
  Walker(const Program& program, const std::function<unsigned(unsigned)>& choose)
      : p_(program), choose_(choose), bound_(program.indices.size(), 0) {}

  std::optional<std::string> walk(int steps) {
    for (; steps > 0 && !done_ && problem_.empty(); --steps) step();
    if (problem_.empty()) return {};
    return "instruction " + std::to_string(at_) + ": " + problem_;
  }

 private:
  struct Frame {
    std::uint32_t back;
    std::size_t loops;
  };

  void expect(bool holds, const char* problem) {
    if (!holds && problem_.empty()) problem_ = problem;
  }

  void step() {
    at_ = next_++;
    expect(at_ < p_.code.size() && find_row(p_.code[at_].op) != nullptr, "no instruction");
    if (!problem_.empty()) return;
    const Instruction& one = p_.code[at_];
    take_operands(one, *find_row(one.op));
    if (problem_.empty()) go(one);
  }

  void take_operands(const Instruction& one, const InstructionRow& row) {
    const std::pair<Operand, std::uint32_t> operands[] = {
        {row.a, one.a}, {row.b, one.b}, {row.c, one.c}};
    std::size_t rank = 0;
    for (const auto& [sort, number] : operands) {
      if (Operand::block <= sort && sort <= Operand::temp_block) use_selector(number);
      if (sort >= Operand::whole_array) expect(number < p_.arrays.size(), "no array");
      if (sort == Operand::index) use_index(number);
      if (sort == Operand::contiguous_array && problem_.empty())
        rank = p_.arrays[number].indices.size();
    }
    std::string types = row.pops;
    if (types.starts_with('R')) types = std::string(2 * rank, 'i') + types.substr(1);
    expect(stack_.ends_with(types), "operands are not on the stack");
    if (!problem_.empty()) return;
    stack_.resize(stack_.size() - types.size());
    stack_ += row.pushes;
    expect(stack_.size() <= kMaxStack, "the stack overflows");
    arguments_ += is_argument(one.op) ? 1 : 0;
    if (one.op == Op::execute) {
      expect(arguments_ == one.b && p_.super_instructions[one.a].intents.size() == one.b,
             "a wrong number of arguments");
      arguments_ = 0;
    }
  }

  void use_selector(std::uint32_t number) {
    expect(number < p_.selectors.size(), "no selector");
    if (!problem_.empty()) return;
    const Selector& selector = p_.selectors[number];
    expect(selector.dimensions.size() == p_.arrays[selector.array].indices.size(), "wrong rank");
    for (const Selected& selected : selector.dimensions)
      if (selected.index != kNone) use_index(selected.index);
  }

  void use_index(std::uint32_t index) {
    expect(index < bound_.size() && bound_[index] == 1, "an index is not bound");
  }

  bool in_pardo() const {
    for (const std::uint32_t loop : open_)
      if (p_.loops[loop].kind == LoopKind::pardo) return true;
    return false;
  }

  void go(const Instruction& one) {
    switch (one.op) {
      case Op::halt:
        expect(frames_.empty() && open_.empty() && stack_.empty(), "an early end");
        done_ = true;
        break;
      case Op::stop: done_ = true; break;
      case Op::jump: next_ = one.a; break;
      case Op::jump_if_false:
        if (choose_(2) == 0) next_ = one.a;
        break;
      case Op::call:
        expect(frames_.size() < p_.procs.size(), "recursion");
        frames_.push_back({next_, open_.size()});
        next_ = p_.procs[one.a].begin;
        break;
      case Op::return_: go_back(); break;
      case Op::loop_begin: enter(one.a); break;
      case Op::where:
        if (choose_(4) == 0) next_ = p_.loops[one.a].end;
        break;
      case Op::loop_end:
        expect(!open_.empty() && open_.back() == one.a, "an end of another loop");
        if (choose_(2) == 0) {
          next_ = p_.loops[one.a].begin + 1;
        } else {
          leave();
        }
        break;
      case Op::loop_exit:
        expect(!open_.empty() && open_.back() == one.a, "an exit of another loop");
        next_ = p_.loops[one.a].end + 1;
        leave();
        break;
      case Op::loop_cycle:
        expect(!open_.empty() && open_.back() == one.a, "a cycle of another loop");
        next_ = p_.loops[one.a].end;
        break;
      case Op::barrier:
      case Op::delete_:
      case Op::collective_static:
      case Op::section_begin: expect(!in_pardo(), "a joint operation in a pardo"); break;
      case Op::get:
        expect(p_.accesses.at(one.b).selector == one.a, "an access of another get");
        expect(p_.accesses.at(one.b).loops.size() <= open_.size(), "an access with other loops");
        break;
      default: break;
    }
  }

  void enter(std::uint32_t number) {
    const Loop& loop = p_.loops[number];
    expect(loop.kind != LoopKind::pardo || !in_pardo(), "a pardo in a pardo");
    if (choose_(8) == 0) {
      next_ = loop.end + 1;
      return;
    }
    for (const std::uint32_t index : loop.indices) {
      if (loop.kind == LoopKind::do_in) use_index(p_.indices[index].parent);
      expect(++bound_[index] == 1, "an index is bound twice");
    }
    open_.push_back(number);
  }

  void leave() {
    if (open_.empty()) return;
    for (const std::uint32_t index : p_.loops[open_.back()].indices) --bound_[index];
    open_.pop_back();
  }

  void go_back() {
    expect(!frames_.empty(), "a return without a call");
    if (!problem_.empty()) return;
    while (open_.size() > frames_.back().loops) leave();
    next_ = frames_.back().back;
    frames_.pop_back();
  }

  const Program& p_;
  const std::function<unsigned(unsigned)>& choose_;
  std::vector<int> bound_;
  std::vector<std::uint32_t> open_;
  std::vector<Frame> frames_;
  std::string stack_, problem_;
  std::uint32_t at_ = 0, next_ = 0;
  unsigned arguments_ = 0;
  bool done_ = false;
};

}  // namespace

std::optional<std::string> walk(const Program& program, int steps,
                                const std::function<unsigned(unsigned)>& choose) {
  return Walker(program, choose).walk(steps);
}

}  // namespace ob::test
