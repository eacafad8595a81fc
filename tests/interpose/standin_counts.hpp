#pragma once
// Reads the counters of the preloaded stand-in.

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

namespace ob::test {

template <class... Arguments>
int counter(const char* name, Arguments... arguments) {
  const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(RTLD_DEFAULT, name));
  if (function == nullptr) std::abort();  // the test runs without its preloaded library
  return function(arguments...);
}
/// Legal calls that took the slow path. Calls that a library makes inside another call do not
/// count.
inline int calls() { return counter("standin_calls"); }
/// The count of such calls of one routine. `routine` is a position in routines::all().
inline int calls_of(std::size_t routine) { return counter("standin_calls_of", routine); }
/// The number of these calls that the "device" completed.
inline int done_of(std::size_t routine) { return counter("standin_done_of", routine); }

inline bool mode_is(const char* mode) { return std::strcmp(std::getenv("OB_STANDIN"), mode) == 0; }

/// Returns the function that a program calls under this name.
inline void* bound(const char* name) { return dlsym(RTLD_DEFAULT, name); }

}  // namespace ob::test
