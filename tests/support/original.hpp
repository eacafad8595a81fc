#pragma once
// The local library, whose results are the reference for offloaded calls.

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "backend/cpu/blas_library.hpp"
#include "routines/problem.hpp"
#include "support/in_process_daemon.hpp"

namespace ob::test {

/// Runs the problem's call with the local library, in the problem's own memory. Ends the test
/// program if there is no library or if the library lacks the routine.
inline void run_original(Problem& problem) {
  static const std::unique_ptr<cpu::BlasLibrary> library = require(cpu::BlasLibrary::open({}));
  const auto* function = library->find(problem.routine->id);
  if (function == nullptr || !library->run(*function, problem.arguments)) {
    std::fprintf(stderr, "%s does not run here\n", problem.text().c_str());
    std::abort();
  }
}

}  // namespace ob::test
