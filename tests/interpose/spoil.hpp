#pragma once
// Turns legal calls into illegal ones.

#include <algorithm>

#include "routines/problem.hpp"
#include "support/random.hpp"

namespace ob::test {

/// Makes one flag, dimension, leading dimension or increment of a legal call illegal. (An increment
/// of 0 is illegal at level 2 and legal in some routines of level 1. A negative one is legal only
/// in newer versions of some others. Devices support neither.)
inline void spoil(Problem& p, std::mt19937_64& random) {
  std::int64_t lds[kMaxArguments];
  std::copy_n(p.lds, kMaxArguments, lds);
  for (std::size_t i = 0; i < p.routine->kinds.size(); ++i) {
    if (p.routine->kinds[i] == Kind::matrix) lds[i] = INT64_MAX;  // legal in either layout
  }
  while (p.routine->legal(p.arguments, lds)) {
    const std::size_t i = uniform<std::size_t>(random, 0, p.routine->kinds.size() - 1);
    const Kind kind = p.routine->kinds[i];
    if (kind == Kind::flag) p.arguments[i].flag = "XQ"[uniform(random, 0, 1)];
    // Some dimensions (il) are legal with any value in some routines.
    if (kind == Kind::dim) p.arguments[i].dim = p.routine->argument_names[i] == "itype" ? 4 : -1;
    if (kind == Kind::matrix) p.lds[i] = lds[i] = 0;
    if (kind == Kind::strided) p.lds[i] = lds[i] = uniform(random, -1, 0);  // -1: for some
  }
  p.point();
}

/// Returns true if the routine has an argument that spoil() can change.
inline bool can_spoil(const Descriptor& routine) {
  for (const Kind kind : routine.kinds) {
    if (kind <= Kind::dim || has_ld(kind)) return true;
  }
  return false;
}

}  // namespace ob::test
