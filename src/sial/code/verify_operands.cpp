#include <optional>
#include <vector>

#include "sial/code/instruction_table.hpp"
#include "sial/code/load_problem.hpp"
#include "sial/code/verify.hpp"

namespace ob::sial {
namespace {

// How a selector can be used.
struct SelectorUse {
  bool star = false;     // a dimension is `*`
  bool part = false;     // a dimension has a subindex where the array has segments
  bool element = false;  // all declared indices are simple
};

// Returns the table of a segmented index, and of a subindex that of its parent.
const std::string& table_of(const Program& program, const Index& index) {
  return index.kind == IndexKind::subindex ? program.indices[index.parent].table : index.table;
}

// Checks one dimension of a selector.
Status fit_dimension(const Program& program, const Index& declared, Selected selected,
                     SelectorUse& use) {
  if (declared.kind != IndexKind::simple) use.element = false;
  if (selected.index == kNone) {
    use.star = true;
    return {};
  }
  const Index& index = program.indices[selected.index];
  if (selected.as_simple) {
    if (declared.kind == IndexKind::simple) return {};
    return Status(Code::invalid_argument, "index " + index.name + " is cast to a simple one");
  }
  const bool part = declared.kind == IndexKind::segmented && index.kind == IndexKind::subindex;
  if ((part || declared.kind == index.kind) &&
      table_of(program, declared) == table_of(program, index)) {
    use.part |= part;
    return {};
  }
  return Status(Code::invalid_argument, "index " + index.name + " has another kind or table");
}

Result<std::vector<SelectorUse>> check_selectors(const Program& program, const std::string& file) {
  std::vector<SelectorUse> uses;
  uses.reserve(program.selectors.size());
  for (std::size_t number = 0; number < program.selectors.size(); ++number) {
    const Selector& selector = program.selectors[number];
    const Array& array = program.arrays[selector.array];
    SelectorUse use{.element = true};
    Status outcome;
    for (std::size_t i = 0; outcome.ok() && i < array.indices.size(); ++i) {
      const Index& declared = program.indices[array.indices[i]];
      outcome = fit_dimension(program, declared, selector.dimensions[i], use);
    }
    if (!outcome.ok()) {
      return bad_file(file,
                      "section selectors, record " + std::to_string(number) +
                          " does not fit array " + array.name,
                      outcome.message());
    }
    if (array.contiguous) {
      return bad_file(file,
                      "section selectors, record " + std::to_string(number) +
                          " selects a block of contiguous array " + array.name,
                      "such an array has regions");
    }
    uses.push_back(use);
  }
  return uses;
}

bool is_stored(const Array& array) {
  return array.storage == Storage::distributed || array.storage == Storage::served;
}

class OperandCheck {
 public:
  OperandCheck(const Program& program, const std::vector<SelectorUse>& uses)
      : program_(program), uses_(uses) {}

  // Returns what is wrong with an operand of `instruction`, nothing if it is right.
  std::optional<std::string> problem(const Instruction& instruction, Operand sort,
                                     std::uint32_t number) const {
    const std::size_t size = records(instruction, sort);
    if (sort == Operand::none && number != 0) return "an operand that it does not have is not zero";
    if (sort == Operand::argument_count && number >= size)
      return std::to_string(number) + " arguments are too many";
    if (number >= size) return sort_name(sort) + std::to_string(number) + " is missing";
    if (sort == Operand::persistent) return persistent_problem(instruction, number);
    if (Operand::block <= sort && sort <= Operand::temp_block) return block_problem(sort, number);
    if (Operand::whole_array <= sort) return array_problem(sort, program_.arrays[number]);
    if (sort == Operand::proc && number == 0) return "proc 0, the program, cannot be called";
    return {};
  }

 private:
  // Returns how many numbers the sort has.
  std::size_t records(const Instruction& instruction, Operand sort) const {
    switch (sort) {
      case Operand::none: return 1;
      case Operand::instruction: return program_.code.size();
      case Operand::proc: return program_.procs.size();
      case Operand::loop: return program_.loops.size();
      case Operand::section: return program_.code.size();  // find_structure() checks more
      case Operand::int_constant: return program_.int_constants.size();
      case Operand::int_variable: return program_.ints.size();
      case Operand::index: return program_.indices.size();
      case Operand::scalar_constant: return program_.scalar_constants.size();
      case Operand::scalar_variable: return program_.scalars.size();
      case Operand::string: return program_.strings.size();
      case Operand::access: return program_.accesses.size();
      case Operand::super_instruction: return program_.super_instructions.size();
      case Operand::argument_count: return kMaxArguments + 1;
      case Operand::persistent:
        return instruction.x == 0 ? program_.scalars.size() : program_.arrays.size();
      default: break;
    }
    return sort <= Operand::temp_block ? program_.selectors.size() : program_.arrays.size();
  }

  static std::string sort_name(Operand sort) {
    switch (sort) {
      case Operand::instruction: return "instruction ";
      case Operand::proc: return "proc ";
      case Operand::loop: return "loop ";
      case Operand::section: return "section ";
      case Operand::int_constant: return "int constant ";
      case Operand::int_variable: return "int ";
      case Operand::index: return "index ";
      case Operand::scalar_constant: return "scalar constant ";
      case Operand::scalar_variable: return "scalar ";
      case Operand::string: return "string ";
      case Operand::access: return "access ";
      case Operand::super_instruction: return "super-instruction ";
      case Operand::persistent: return "object ";
      default: return sort <= Operand::temp_block ? "selector " : "array ";
    }
  }

  std::optional<std::string> persistent_problem(const Instruction& instruction,
                                                std::uint32_t number) const {
    const bool array = instruction.x != 0;
    if (array ? program_.arrays[number].predefined : program_.scalars[number].predefined)
      return "a predefined object cannot be persistent";
    if (!array || program_.arrays[number].storage == Storage::static_ ||
        is_stored(program_.arrays[number])) {
      return {};
    }
    return "array " + program_.arrays[number].name + " cannot be persistent";
  }

  std::optional<std::string> block_problem(Operand sort, std::uint32_t number) const {
    const SelectorUse& use = uses_[number];
    const Array& array = program_.arrays[program_.selectors[number].array];
    if (use.star && sort != Operand::allocated_block)
      return "selector " + std::to_string(number) + " has a *, which only allocations can have";
    const bool part = sort == Operand::part || sort == Operand::written_part;
    if (use.part != part) {
      return part ? "selector " + std::to_string(number) + " selects no part of a block"
                  : "selector " + std::to_string(number) + " selects a part of a block";
    }
    switch (sort) {
      case Operand::element:
        if (!use.element) return "a block of " + array.name + " has more than one element";
        break;
      case Operand::written_block:
      case Operand::written_part:
        if (is_stored(array))
          return "array " + array.name + " lives on servers, only put writes it";
        break;
      case Operand::stored_block:
        if (!is_stored(array)) return "array " + array.name + " is neither distributed nor served";
        break;
      case Operand::allocated_block:
        if (array.storage != Storage::local) return "array " + array.name + " is not local";
        break;
      case Operand::temp_block:
        if (array.storage != Storage::temp) return "array " + array.name + " is no temp";
        break;
      default: break;
    }
    return {};
  }

  static std::optional<std::string> array_problem(Operand sort, const Array& array) {
    const bool is_static = array.storage == Storage::static_;
    switch (sort) {
      case Operand::whole_array:
        if (is_static || is_stored(array)) return {};
        return "array " + array.name + " cannot be used as a whole";
      case Operand::static_array:
        if (is_static) return {};
        return "array " + array.name + " is not static";
      case Operand::stored_array:
        if (is_stored(array)) return {};
        return "array " + array.name + " is neither distributed nor served";
      case Operand::local_array:
        if (array.storage == Storage::local && !array.contiguous) return {};
        return "array " + array.name + " is not local, or it is contiguous";
      default:
        if (array.contiguous) return {};
        return "array " + array.name + " is not contiguous";
    }
  }

  const Program& program_;
  const std::vector<SelectorUse>& uses_;
};

Status check_instruction(const Program& program, const OperandCheck& check, std::uint32_t at,
                         const std::string& file) {
  const Instruction& instruction = program.code[at];
  const InstructionRow* row = find_row(instruction.op);
  if (row == nullptr) {
    return bad_instruction(
        program, file, at, "does not exist",
        "no operation has number " + std::to_string(static_cast<std::uint16_t>(instruction.op)));
  }
  if (instruction.x >= row->variants)
    return bad_instruction(program, file, at, "has no variant " + std::to_string(instruction.x),
                           "it has " + std::to_string(row->variants));
  const std::pair<Operand, std::uint32_t> operands[] = {
      {row->a, instruction.a}, {row->b, instruction.b}, {row->c, instruction.c}};
  for (const auto& [sort, number] : operands) {
    if (const auto problem = check.problem(instruction, sort, number))
      return bad_instruction(program, file, at, "has a wrong operand", *problem);
  }
  return {};
}

}  // namespace

Status verify_operands(const Program& program, const std::string& file) {
  OB_ASSIGN_OR_RETURN(const std::vector<SelectorUse> uses, check_selectors(program, file));
  const OperandCheck check(program, uses);
  for (std::uint32_t at = 0; at < program.code.size(); ++at)
    OB_RETURN_IF_ERROR(check_instruction(program, check, at, file));
  return {};
}

}  // namespace ob::sial
