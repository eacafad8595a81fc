#pragma once

#include <vector>

#include "sial/code/program.hpp"

namespace ob::test {

/// Right programs with loops, where clauses, calls, sections and statements of all sorts.
std::vector<sial::Program> sample_programs();

}  // namespace ob::test
