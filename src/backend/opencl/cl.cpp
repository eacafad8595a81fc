#include "backend/opencl/cl.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace ob::opencl {
namespace {

constexpr const char* kLoaderSoname = "libOpenCL.so.1";
constexpr cl_int kNoPlatform = -1001;  // the loader's CL_PLATFORM_NOT_FOUND_KHR

struct ErrorName {
  cl_int result;
  const char* name;
};
#define OB_CL_ERROR(name) \
  { name, #name }
// The names of the errors that callers can get. Messages show other errors by number.
constexpr ErrorName kNames[] = {
    OB_CL_ERROR(CL_DEVICE_NOT_FOUND),
    OB_CL_ERROR(CL_DEVICE_NOT_AVAILABLE),
    OB_CL_ERROR(CL_COMPILER_NOT_AVAILABLE),
    OB_CL_ERROR(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    OB_CL_ERROR(CL_OUT_OF_RESOURCES),
    OB_CL_ERROR(CL_OUT_OF_HOST_MEMORY),
    OB_CL_ERROR(CL_MEM_COPY_OVERLAP),
    OB_CL_ERROR(CL_BUILD_PROGRAM_FAILURE),
    OB_CL_ERROR(CL_INVALID_VALUE),
    OB_CL_ERROR(CL_INVALID_CONTEXT),
    OB_CL_ERROR(CL_INVALID_MEM_OBJECT),
    OB_CL_ERROR(CL_INVALID_KERNEL_ARGS),
    OB_CL_ERROR(CL_INVALID_WORK_GROUP_SIZE),
    OB_CL_ERROR(CL_INVALID_WORK_ITEM_SIZE),
    OB_CL_ERROR(CL_INVALID_KERNEL_NAME),
    OB_CL_ERROR(CL_INVALID_ARG_SIZE),
    OB_CL_ERROR(CL_INVALID_ARG_VALUE),
    OB_CL_ERROR(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    OB_CL_ERROR(CL_INVALID_BUFFER_SIZE),
    {kNoPlatform, "no platform"},
};
#undef OB_CL_ERROR

std::string name_of(cl_int result) {
  for (const ErrorName& error : kNames) {
    if (error.result == result) return error.name;
  }
  return "error " + std::to_string(result);
}

Code code_of(cl_int result) {
  switch (result) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_INVALID_BUFFER_SIZE: return Code::out_of_memory;
    case CL_DEVICE_NOT_FOUND:
    case CL_DEVICE_NOT_AVAILABLE:
    case kNoPlatform: return Code::unavailable;
    default: return Code::device_error;
  }
}

}  // namespace

// The library is never unloaded, because implementations keep threads and handlers that outlive
// their handles.
Result<Cl> Cl::open(const std::string& soname) {
  const char* const cache = std::getenv("POCL_CACHE_DIR");
  if (cache != nullptr && *cache == '\0') {
    return Status(
        Code::unavailable,
        "OpenCL is not opened (POCL_CACHE_DIR is empty, with which PoCL ends the process);"
        " unset it, or name a folder");
  }
  void* const library = dlopen(soname.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* reason = dlerror();
    return Status(Code::unavailable,
                  "no OpenCL here (" + std::string(reason != nullptr ? reason : soname) +
                      "); install the Debian package ocl-icd-libopencl1 and a vendor's driver");
  }
  Cl table;
  const char* missing = nullptr;
#define OB_CL_FILL(name)                                                      \
  table.name = reinterpret_cast<decltype(table.name)>(dlsym(library, #name)); \
  if (table.name == nullptr && missing == nullptr) missing = #name;
  OB_CL_FUNCTIONS(OB_CL_FILL)
#undef OB_CL_FILL
  if (missing != nullptr) {
    return Status(Code::unavailable, soname + " has no " + missing + " (older than OpenCL 1.2?)");
  }
  return table;
}

Result<const Cl*> Cl::get() {
  static const Result<Cl> opened = open(kLoaderSoname);
  if (!opened.ok()) return opened.status();
  return &opened.value();
}

Status Cl::check(cl_int result, const std::string& what) {
  if (result == CL_SUCCESS) return {};
  return {code_of(result), what + ": OpenCL failed (" + name_of(result) + ")"};
}

}  // namespace ob::opencl
