#pragma once
// The checks that a program passes before it runs.   Source: docs/sial/bytecode.md, "Checks of the
// loader"

#include <string>

#include "base/status.hpp"
#include "sial/code/program.hpp"
#include "sial/code/structure.hpp"

namespace ob::sial {

/// Checks everything about a program that read_records() does not check. Calls the passes below in
/// their order.
/// Errors:  invalid_argument: "FILE: problem (why) suggestion", with instruction and source line
/// Cost:    linear in the program; the check of bindings also grows with calls and depth of loops
Status verify(const Program& program, const std::string& file);

/// Procs follow each other and cover the code; each instruction has a line.
Status verify_procs(const Program& program, const std::string& file);

/// Selectors fit their arrays in the kinds of their indices. Operations and their variants exist.
/// Operands exist and have the right sort and storage.
Status verify_operands(const Program& program, const std::string& file);

/// Each instruction finds the operands that it needs on the stack, and statements find no more.
/// Each execute has its arguments, with intents that they can have.
Status verify_stack(const Program& program, const Structure& structure, const std::string& file);

/// Labels of block statements fit the rules of the language; whole statics have equal shapes.
Status verify_labels(const Program& program, const std::string& file);

/// Each get has its access, whose loops are around it.
Status verify_accesses(const Program& program, const Structure& structure, const std::string& file);

/// No proc reaches itself. No index is bound twice, and indices are bound where they are used.
/// Barriers and the like do not lie inside a pardo. All of this holds through calls too.
Status verify_bindings(const Program& program, const Structure& structure, const std::string& file);

}  // namespace ob::sial
