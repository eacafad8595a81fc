#pragma once

#include <cstdio>
#include <cstdlib>

namespace ob::fuzz {

/// Ends the program, which libFuzzer takes for a crash: what we promise did not hold.
[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

inline void expect(bool holds, const char* what) {
  if (!holds) fail(what);
}

}  // namespace ob::fuzz
