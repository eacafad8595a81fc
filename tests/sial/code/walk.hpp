#pragma once
// Walks through a program as an interpreter does, without data: an oracle for the loader.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sial/code/program.hpp"

namespace ob::test {

/// Executes at most `steps` instructions. `choose(n)` returns a number below n and decides about
/// conditions and loops. Returns the first thing that would harm an interpreter that trusts the
/// loader: a number without a record, a missing operand of the stack, an index that is not bound,
/// an operation in a pardo that all workers must execute.
std::optional<std::string> walk(const sial::Program& program, int steps,
                                const std::function<unsigned(unsigned)>& choose);

}  // namespace ob::test
