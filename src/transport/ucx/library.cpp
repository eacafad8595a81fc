#include "transport/ucx/library.hpp"

#include <dlfcn.h>

#include "transport/ucx/environment.hpp"

namespace ob::transport::ucx {
namespace {

// UCX reads these variables while it is loaded. Inside somebody else's process it must not catch
// signals (SIGHUP among them), rewrite memory functions, or start threads.
constexpr const char* kForced[] = {
    "UCX_ERROR_SIGNALS=", "UCX_HANDLE_ERRORS=none",      "UCX_DEBUG_SIGNO=0",
    "UCX_MEM_EVENTS=n",   "UCX_MEM_MMAP_HOOK_MODE=none", "UCX_MEM_CUDA_HOOK_MODE=none",
    "UCX_VFS_ENABLE=n"};
// Otherwise UCX writes to the program's output. Its errors are returned as a status.
constexpr const char* kDefaults[] = {"UCX_LOG_LEVEL=fatal", "UCX_WARN_UNUSED_ENV_VARS=n"};

Status missing(const char* what) {
  const char* const why = ::dlerror();
  return {Code::unsupported, std::string("cannot use ") + what + " (" +
                                 (why != nullptr ? why : "unknown") +
                                 ") install UCX (Debian's libucx0), or write HOST:PORT for TCP"};
}

void* open_ucx() {
  const BorrowedEnvironment quiet(kForced, kDefaults);
  // The library is never closed, because its threads may run until the end of the process.
  return ::dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

template <class Function>
bool find_ucx_function(void* handle, const char* name, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(handle, name));
  return out != nullptr;
}

Result<Library> load() {
  void* const handle = open_ucx();
  if (handle == nullptr) return missing("UCX");
  Library library;
#define OB_UCX_FIND(name) \
  if (!find_ucx_function(handle, #name, library.name)) return missing("UCX's function " #name);
  OB_UCX_FUNCTIONS(OB_UCX_FIND)
#undef OB_UCX_FIND
  return library;
}

}  // namespace

Result<const Library*> library() {
  static const Result<Library> loaded = load();
  if (!loaded.ok()) return loaded.status();
  return &*loaded;
}

}  // namespace ob::transport::ucx
