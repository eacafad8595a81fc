#pragma once
// The super-instructions that every job has.   Source: docs/sial/plugins.md, "Built in"

#include <memory>

#include "sial/builtins/lapack.hpp"
#include "sial/plugin/super_instruction.hpp"

namespace ob::sial {

/// Returns the built-in super-instructions. They check kinds and extents of their arguments.
/// @param lapack for the operations on matrices; without it they report that there is no library
SuperFunctions builtin_functions(const std::shared_ptr<Lapack>& lapack = nullptr);

void add_block_output(SuperFunctions& functions);
void add_fills(SuperFunctions& functions);
void add_element_functions(SuperFunctions& functions);
void add_worker_functions(SuperFunctions& functions);
void add_matrix_functions(SuperFunctions& functions, const std::shared_ptr<Lapack>& lapack);
void add_diis(SuperFunctions& functions, const std::shared_ptr<Lapack>& lapack);

}  // namespace ob::sial
