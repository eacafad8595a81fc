#pragma once
// What the preloaded stand-in counted.

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

namespace ob::test {

inline int counter(const char* name) {
  const auto function = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, name));
  if (function == nullptr) std::abort();  // the test runs without its preloaded library
  return function();
}
/// Legal calls that took the slow path.
inline int calls() { return counter("standin_calls"); }
/// Of these, completed on the "device".
inline int done() { return counter("standin_done"); }

inline bool mode_is(const char* mode) { return std::strcmp(std::getenv("OB_STANDIN"), mode) == 0; }

/// The function a program would call under this name.
inline void* bound(const char* name) { return dlsym(RTLD_DEFAULT, name); }

}  // namespace ob::test
