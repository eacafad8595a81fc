#pragma once
// Questions that libraries of routines answer about themselves.

#include <dlfcn.h>

#include <initializer_list>

namespace ob::offload {

/// Returns the first of these functions that `object` or one of its dependencies has; nullptr if
/// none. Wheels rename the functions of OpenBLAS.
/// Threads: any; asks the dynamic linker
template <class Function>
Function find_function(void* object, std::initializer_list<const char*> names) noexcept {
  for (const char* name : names) {
    if (void* found = ::dlsym(object, name)) return reinterpret_cast<Function>(found);
  }
  return nullptr;
}

using AskNumber = int (*)();
using AskText = const char* (*)();

/// The function that tells version, build options and core type of OpenBLAS in one line:
/// "OpenBLAS 0.3.21 ... SkylakeX MAX_THREADS=64".
inline AskText openblas_config(void* object) noexcept {
  return find_function<AskText>(
      object, {"openblas_get_config", "openblas_get_config64_", "scipy_openblas_get_config",
               "scipy_openblas_get_config64_"});
}

/// Returns the number of threads of the library (OpenBLAS, BLIS, oneMKL). Other libraries are
/// expected to use as many threads as OpenMP.
int threads_of(void* object) noexcept;

}  // namespace ob::offload
