#include "backend/cuda/library.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

namespace ob::cuda {
namespace {

// The folder of NVIDIA's packages for Linux.
constexpr const char* kUsualFolder = "/usr/local/cuda/lib64";

std::vector<std::string> places(const std::string& soname) {
  std::vector<std::string> paths;
  const char* folders = std::getenv("OUTBOARD_CUDA_PATH");
  std::string rest = folders != nullptr ? folders : "";
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    const std::string folder = rest.substr(0, end);
    if (!folder.empty()) paths.push_back(folder + "/" + soname);
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
  }
  paths.push_back(soname);
  paths.push_back(std::string(kUsualFolder) + "/" + soname);
  return paths;
}

}  // namespace

// The library is never unloaded (RTLD_NODELETE), even when its Library is destroyed.
Result<Library> Library::open(const std::string& soname) {
  std::string reasons;
  for (const std::string& path : places(soname)) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle != nullptr) return Library(handle, path);
    const char* reason = dlerror();
    if (!reasons.empty()) reasons += "; ";
    reasons += reason != nullptr ? reason : path + ": no reason given";
  }
  return Status(Code::unavailable,
                "cannot open " + soname + " (" + reasons +
                    "); install CUDA " OB_CUDA_TEXT(
                        OB_CUDA_MAJOR) " or name its folder in OUTBOARD_CUDA_PATH");
}

void* Library::symbol(const char* name) const noexcept { return dlsym(handle_, name); }

Status Library::lacks(const char* function) const {
  return {Code::unavailable,
          path_ + " has no " + function +
              " (another version of CUDA than this daemon was built for?); name "
              "the folder of CUDA " OB_CUDA_TEXT(OB_CUDA_MAJOR) " in OUTBOARD_CUDA_PATH"};
}

}  // namespace ob::cuda
