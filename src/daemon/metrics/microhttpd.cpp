#include "daemon/metrics/microhttpd.hpp"

#include <dlfcn.h>

#include <string>

namespace ob::daemon {
namespace {

constexpr const char* kLibrary = "libmicrohttpd.so.12";  // the version of its interface

template <class Function>
bool find_function(void* library, const char* name, Function& function) noexcept {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

Result<Microhttpd> Microhttpd::open() {
  void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    return Status(Code::unavailable, std::string("cannot serve metrics (") +
                                         (why != nullptr ? why : "no reason given") +
                                         ") install libmicrohttpd (Debian: libmicrohttpd12)");
  }
  Microhttpd found;
  const char* missing = nullptr;
#define OB_FIND_FUNCTION(function) \
  if (!find_function(library, #function, found.function)) missing = #function;
  OB_MICROHTTPD_FUNCTIONS(OB_FIND_FUNCTION)
#undef OB_FIND_FUNCTION
  if (missing == nullptr) return found;
  return Status(Code::unavailable, std::string("cannot serve metrics (libmicrohttpd has no ") +
                                       missing + ") install version 0.9.75 or later");
}

}  // namespace ob::daemon
