#pragma once
// The nesting of loops and sections in the code of a program.

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "sial/code/program.hpp"

namespace ob::sial {

struct Structure {
  std::vector<std::uint32_t> proc_of;  ///< per instruction
  /// Per instruction: the innermost loop whose where clauses or body contain it, or kNone.
  /// `loop_begin` lies outside of its loop and `loop_end` inside.
  std::vector<std::uint32_t> loop_of;
  /// Per instruction: where clauses, bodies and sections have different numbers, and so have procs.
  std::vector<std::uint32_t> region_of;
  std::vector<std::uint32_t> parent_of;  ///< per loop: the loop around it in its proc, or kNone
  std::vector<bool> in_pardo;   ///< per loop: it or a loop around it in its proc is a pardo
  std::vector<bool> target;     ///< per instruction: a jump leads to it
  std::vector<bool> reachable;  ///< per instruction: from the beginning of its proc
};

/// Checks procs, loops, where clauses, sections and jumps, and returns their structure.
/// @pre the operands of all instructions exist (verify_operands())
/// Errors:  invalid_argument, naming the instruction, loop or proc
Result<Structure> find_structure(const Program& program, const std::string& file);

}  // namespace ob::sial
