#include <cstring>
#include <string_view>
#include <vector>

#include "sial/code/instruction_table.hpp"
#include "sial/code/load_problem.hpp"
#include "sial/code/verify.hpp"

namespace ob::sial {
namespace {

// Jumps, and instructions that a jump leads to, find the stack empty. So one pass in the order of
// the code knows the stack on every path.
class StackCheck {
 public:
  StackCheck(const Program& program, const Structure& structure, const std::string& file)
      : program_(program), structure_(structure), file_(file) {}

  Status check(std::uint32_t at) {
    const Instruction& instruction = program_.code[at];
    const InstructionRow& row = *find_row(instruction.op);
    const bool starts_proc = program_.procs[structure_.proc_of[at]].begin == at;
    if ((structure_.target[at] || starts_proc) && (!stack_.empty() || !arguments_.empty()))
      return refuse(at, "is the target of a jump inside a statement", "the stack must be empty");
    const bool argument = is_argument(instruction.op);
    const bool expression = is_expression(instruction.op);
    if (!arguments_.empty() && !argument && !expression && instruction.op != Opcode::execute)
      return refuse(at, "stands between arguments and their execute",
                    "only arguments and expressions can");
    const std::size_t below = stack_.size();
    if (!pop(instruction, row)) {
      return refuse(at, "does not find its operands on the stack",
                    "it takes " + needs(instruction, row) + " and finds " + show(below));
    }
    if (!argument && !expression && !stack_.empty())
      return refuse(at, "leaves values on the stack", "a statement uses all of them");
    stack_ += row.pushes;
    if (stack_.size() > kMaxStack)
      return refuse(at, "overflows the stack", "64 values are the most");
    if (argument) arguments_.push_back(at);
    return instruction.op == Opcode::execute ? execute(at, instruction) : Status();
  }

 private:
  Status refuse(std::uint32_t at, const std::string& problem, const std::string& why) const {
    return bad_instruction(program_, file_, at, problem, why);
  }

  // Returns the types that an instruction takes, the top last.
  std::string needs(const Instruction& instruction, const InstructionRow& row) const {
    if (row.pops[0] != 'R') return row.pops;
    const bool first = row.a == Operand::contiguous_array;
    const std::size_t rank = program_.arrays[first ? instruction.a : instruction.b].indices.size();
    return std::string(2 * rank, 'i') + (row.pops + 1);
  }

  bool pop(const Instruction& instruction, const InstructionRow& row) {
    if (row.pops[0] == '\0') return true;
    const std::string types = needs(instruction, row);
    if (!stack_.ends_with(types)) return false;
    stack_.resize(stack_.size() - types.size());
    return true;
  }

  std::string show(std::size_t depth) const {
    return depth == 0 ? "nothing" : stack_.substr(0, depth);
  }

  Status execute(std::uint32_t at, const Instruction& instruction) {
    const SuperInstruction& called = program_.super_instructions[instruction.a];
    const std::vector<std::uint32_t> arguments = std::exchange(arguments_, {});
    if (arguments.size() != instruction.b || arguments.size() != called.intents.size()) {
      return refuse(at, "has " + std::to_string(arguments.size()) + " arguments",
                    called.name + " takes " + std::to_string(called.intents.size()) +
                        ", the instruction says " + std::to_string(instruction.b));
    }
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (called.intents[i] != 'r' && !can_be_written(program_.code[arguments[i]]))
        return refuse(arguments[i], "is an argument that " + called.name + " writes",
                      "it can only be read");
    }
    return {};
  }

  bool can_be_written(const Instruction& argument) const {
    switch (argument.op) {
      case Opcode::argument_array:
      case Opcode::argument_scalar:
      case Opcode::argument_int:
      case Opcode::argument_region: return true;
      case Opcode::argument_block: break;
      default: return false;
    }
    const Storage storage = program_.arrays[program_.selectors[argument.a].array].storage;
    return storage != Storage::distributed && storage != Storage::served;
  }

  const Program& program_;
  const Structure& structure_;
  const std::string& file_;
  std::string stack_;                     // of types: i and s
  std::vector<std::uint32_t> arguments_;  // instructions, of the execute that follows
};

}  // namespace

Status verify_stack(const Program& program, const Structure& structure, const std::string& file) {
  StackCheck check(program, structure, file);
  for (std::uint32_t at = 0; at < program.code.size(); ++at) OB_RETURN_IF_ERROR(check.check(at));
  return {};
}

}  // namespace ob::sial
