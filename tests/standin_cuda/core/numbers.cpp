#include "numbers.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace standin {

void* fortran_symbol(const char* symbol) {
  static void* const kLibrary = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (kLibrary == nullptr) {
    std::fprintf(stderr, "standin_cuda: %s\n", dlerror());
    std::abort();
  }
  void* function = dlsym(kLibrary, symbol);
  if (function == nullptr) {
    std::fprintf(stderr, "standin_cuda: OpenBLAS has no %s\n", symbol);
    std::abort();
  }
  return function;
}

}  // namespace standin
