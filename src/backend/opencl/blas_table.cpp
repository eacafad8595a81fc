#include "backend/opencl/blas_table.hpp"

#include <dlfcn.h>

#include <string>

namespace ob::opencl {
namespace {

constexpr const char* kClblastSoname = "libclblast.so.1";

Code code_of_clblast(CLBlastStatusCode result) {
  switch (result) {
    case CLBlastTempBufferAllocFailure:
    case CLBlastOpenCLOutOfResources:
    case CLBlastOpenCLOutOfHostMemory:
    case CLBlastInvalidBufferSize: return Code::out_of_memory;
    default: return Code::device_error;
  }
}

}  // namespace

// The library is never unloaded. It keeps its compiled programs until the process ends.
Result<BlasTable> BlasTable::open() {
  void* const library = dlopen(kClblastSoname, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* reason = dlerror();
    return Status(Code::unavailable, "no CLBlast here (" +
                                         std::string(reason != nullptr ? reason : kClblastSoname) +
                                         "); install the Debian package libclblast1");
  }
  BlasTable table;
  const char* missing = nullptr;
#define OB_CLBLAST_FILL(routine, function)                                                \
  table.function = reinterpret_cast<decltype(table.function)>(dlsym(library, #function)); \
  if (table.function == nullptr && missing == nullptr) missing = #function;
  OB_CLBLAST_ROWS(OB_CLBLAST_FILL)
  OB_CLBLAST_SIZES(OB_CLBLAST_FILL)
#undef OB_CLBLAST_FILL
  if (missing != nullptr) {
    return Status(Code::unavailable, std::string(kClblastSoname) + " has no " + missing);
  }
  return table;
}

Status BlasTable::check(CLBlastStatusCode result, std::string_view what) {
  if (result == CLBlastSuccess) return {};
  return {code_of_clblast(result), std::string(what) + ": CLBlast failed (status " +
                                       std::to_string(static_cast<int>(result)) +
                                       " of clblast_c.h)"};
}

}  // namespace ob::opencl
