#pragma once
// The LAPACKE that entries are compared with, and its deviations from its documentation.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "routines/random_problem.hpp"

namespace ob::test {

/// Returns the library in a link namespace of its own, where its internal calls do not reach our
/// entries. Its integers have 32 bits: there is no ILP64 LAPACKE.
inline void* lapacke_library() {
  static void* const handle = [] {
    void* opened = dlmopen(LM_ID_NEWLM, "liblapacke.so.3", RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) ADD_FAILURE() << dlerror();
    return opened;
  }();
  return handle;
}

/// Returns true if LAPACKE 3.11 fails in every call: for SENSE = 'N' it passes no IWORK to
/// [sd]geesx, which write its first element.
/// @param work true: the form whose caller provides the workspace
inline bool lapacke_crashes(const Descriptor& routine, bool work) {
  return !work && routine.base == "geesx" && !is_complex(routine.precision);
}

/// Returns true if LAPACKE 3.11 writes only its own memory. The exceptions are:
/// - empty getri and gebrd answer a query with 0, and then write WORK(1);
/// - unmlq with SIDE = 'R' takes A for k x m, reads outside of A and writes outside of its scratch
///   memory.
inline bool lapacke_is_sound(const Problem& p) {
  const std::string_view base = p.routine->base;
  if (base == "getri" || base == "gebrd") return !p.routine->trivial(p.arguments);
  return base != "unmlq" || p.flag("side") == 'L' || p.dim("m") == p.dim("n");
}

/// Returns a random call that LAPACKE 3.11 can carry out.
inline Problem random_lapacke_problem(const Descriptor& routine, std::mt19937_64& random,
                                      std::int64_t largest, bool row_major, bool trivial_too) {
  for (;;) {
    Problem p = random_problem(routine, random, largest, row_major);
    if (lapacke_is_sound(p) && (trivial_too || !routine.trivial(p.arguments))) return p;
  }
}

}  // namespace ob::test
