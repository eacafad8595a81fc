#include "offload/library_key.hpp"

#include <dlfcn.h>
#include <sched.h>

#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace ob::offload {
namespace {

template <class Function>
Function find(void* object, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* found = ::dlsym(object, name)) return reinterpret_cast<Function>(found);
  }
  return nullptr;
}

// Asks the library (OpenBLAS, also as wheels rename it; BLIS; oneMKL). Other libraries are expected
// to use as many threads as OpenMP.
int threads_of(void* object) {
  using Ask = int (*)();
  if (const auto ask =
          find<Ask>(object, {"openblas_get_num_threads", "openblas_get_num_threads64_",
                             "scipy_openblas_get_num_threads", "scipy_openblas_get_num_threads64_",
                             "bli_thread_get_num_threads", "MKL_Get_Max_Threads"})) {
    return ask();
  }
  if (const char* asked = std::getenv("OMP_NUM_THREADS")) {
    int threads = 0;
    std::from_chars(asked, asked + std::strlen(asked), threads);
    if (threads > 0) return threads;
  }
  cpu_set_t mine;
  return ::sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : 1;
}

// Version, build options and core type in one line: "OpenBLAS 0.3.21 ... SkylakeX MAX_THREADS=64".
const char* openblas_of(void* object) {
  using Ask = const char* (*)();
  const auto ask = find<Ask>(object, {"openblas_get_config", "openblas_get_config64_",
                                      "scipy_openblas_get_config", "scipy_openblas_get_config64_"});
  return ask != nullptr ? ask() : nullptr;
}

// Distributions give different libraries the same file name in folders of their own.
std::string last_two(const std::string& path) {
  const std::size_t file = path.rfind('/');
  if (file == std::string::npos || file == 0) return path;
  const std::size_t folder = path.rfind('/', file - 1);
  return folder == std::string::npos ? path : path.substr(folder + 1);
}

}  // namespace

std::string library_key(const void* function) {
  Dl_info found{};
  if (::dladdr(function, &found) == 0 || found.dli_fname == nullptr) return {};
  char resolved[PATH_MAX];
  const char* path = ::realpath(found.dli_fname, resolved);
  std::string key = last_two(path != nullptr ? path : found.dli_fname);
  void* object = ::dlopen(found.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  // OpenBLAS is installed under several names. The reference LAPACK over it is another library.
  const char* openblas = object != nullptr ? openblas_of(object) : nullptr;
  if (openblas != nullptr && key.find("openblas") != std::string::npos) key = openblas;
  key.append(" ").append(std::to_string(threads_of(object))).append(" threads");
  if (object != nullptr) ::dlclose(object);
  return key;
}

}  // namespace ob::offload
