#pragma once
// The table of instructions: operands, variants and effect on the stack.
// Source: docs/sial/bytecode.md, "Instructions"

#include <cstdint>

#include "sial/code/opcode.hpp"

namespace ob::sial {

/// The sort of an operand: the section that its number counts in, and the rule for the record.
enum class Operand : std::uint8_t {
  none,  ///< is zero
  instruction,
  proc,
  loop,
  section,
  int_constant,
  int_variable,
  index,
  scalar_constant,
  scalar_variable,
  string,
  access,
  super_instruction,
  argument_count,
  persistent,       ///< a scalar or an array, as the variant says
  block,            ///< a selector of a whole block of any array
  element,          ///< a selector whose indices are all simple
  written_block,    ///< a block of a static, temp or local array
  part,             ///< a selector with subindices where the array has segments
  written_part,     ///< the same, of a static, temp or local array
  stored_block,     ///< a block of a distributed or served array
  allocated_block,  ///< a selector of a local array, which may contain `*`
  temp_block,
  whole_array,  ///< a static, distributed or served array
  static_array,
  stored_array,  ///< a distributed or served array
  local_array,   ///< not contiguous
  contiguous_array,
};

/// A row of the table.
struct InstructionRow {
  const char* name = nullptr;  ///< null: no such operation
  std::uint8_t variants = 1;   ///< x is below this number
  Operand a = Operand::none, b = Operand::none, c = Operand::none;
  /// Types that the instruction takes from the stack, the top last: i an int, s a scalar, R two
  /// ints per dimension of its region.
  const char* pops = "";
  const char* pushes = "";
  bool falls_through = true;  ///< the next instruction may follow
};

/// Returns the row of an operation, null if there is none.
const InstructionRow* find_row(Opcode op) noexcept;

/// Returns whether an instruction only computes on the stack, and so may stand in a where clause.
constexpr bool is_expression(Opcode op) noexcept {
  return Opcode::push_int <= op && op <= Opcode::compare_scalars;
}

/// Returns whether an instruction gives an argument to the execute that follows.
constexpr bool is_argument(Opcode op) noexcept {
  return Opcode::argument_block <= op && op <= Opcode::argument_region;
}

}  // namespace ob::sial
