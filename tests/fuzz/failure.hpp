#pragma once

#include <cstdio>
#include <cstdlib>

namespace ob::fuzz {

/// Ends the program, which libFuzzer reports as a crash: the library broke a guarantee.
[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

inline void expect(bool holds, const char* what) {
  if (!holds) fail(what);
}

}  // namespace ob::fuzz
