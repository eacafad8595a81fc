#include "offload/library_key.hpp"

#include <dlfcn.h>

#include <climits>
#include <cstdlib>

#include "offload/library_queries.hpp"

namespace ob::offload {
namespace {

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
  const AskText openblas = object != nullptr ? openblas_config(object) : nullptr;
  if (openblas != nullptr && key.find("openblas") != std::string::npos) key = openblas();
  key.append(" ").append(std::to_string(threads_of(object))).append(" threads");
  if (object != nullptr) ::dlclose(object);
  return key;
}

}  // namespace ob::offload
