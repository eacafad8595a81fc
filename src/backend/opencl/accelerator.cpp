#include "backend/opencl/accelerator.hpp"

#include <algorithm>
#include <utility>

namespace ob::opencl {
namespace {

template <class Value>
Value device_value(const Cl& cl, cl_device_id device, cl_device_info what) {
  Value value{};
  (void)cl.clGetDeviceInfo(device, what, sizeof value, &value, nullptr);
  return value;
}

std::string device_text(const Cl& cl, cl_device_id device, cl_device_info what) {
  char text[1024] = {};
  (void)cl.clGetDeviceInfo(device, what, sizeof text - 1, text, nullptr);
  return text;
}

std::string platform_text(const Cl& cl, cl_platform_id platform, cl_platform_info what) {
  char text[1024] = {};
  (void)cl.clGetPlatformInfo(platform, what, sizeof text - 1, text, nullptr);
  return text;
}

Accelerator describe(const Cl& cl, cl_platform_id platform, cl_device_id device) {
  Accelerator a;
  a.device = device;
  a.name = device_text(cl, device, CL_DEVICE_NAME) + "; " +
           platform_text(cl, platform, CL_PLATFORM_NAME) + ", " +
           device_text(cl, device, CL_DEVICE_VERSION);
  const auto type = device_value<cl_device_type>(cl, device, CL_DEVICE_TYPE);
  a.is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
  // PoCL's devices of the processor do; OpenCL has no question for it.
  a.uses_host_pointers =
      a.is_cpu &&
      platform_text(cl, platform, CL_PLATFORM_NAME).find("Portable Computing") != std::string::npos;
  a.has_fp64 = device_value<cl_device_fp_config>(cl, device, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
  a.memory_bytes = device_value<cl_ulong>(cl, device, CL_DEVICE_GLOBAL_MEM_SIZE);
  a.largest_buffer_bytes = device_value<cl_ulong>(cl, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  return a;
}

Status add_devices(const Cl& cl, cl_platform_id platform, std::vector<Accelerator>& found) {
  cl_uint count = 0;
  const cl_int result = cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
  if (result == CL_DEVICE_NOT_FOUND || count == 0) return {};
  OB_RETURN_IF_ERROR(Cl::check(result, "asking for devices"));
  std::vector<cl_device_id> devices(count);
  OB_RETURN_IF_ERROR(
      Cl::check(cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr),
                "asking for devices"));
  for (const cl_device_id device : devices) {
    if (device_value<cl_bool>(cl, device, CL_DEVICE_AVAILABLE) == CL_FALSE ||
        device_value<cl_bool>(cl, device, CL_DEVICE_COMPILER_AVAILABLE) == CL_FALSE) {
      continue;
    }
    Accelerator a = describe(cl, platform, device);
    cl_int made = CL_SUCCESS;
    a.context = cl.clCreateContext(nullptr, 1, &device, nullptr, nullptr, &made);
    OB_RETURN_IF_ERROR(Cl::check(made, "making a context of " + a.name));
    found.push_back(std::move(a));
  }
  return {};
}

Result<std::vector<Accelerator>> find_all() {
  OB_ASSIGN_OR_RETURN(const Cl* cl, Cl::get());
  cl_uint count = 0;
  const cl_int result = cl->clGetPlatformIDs(0, nullptr, &count);
  if (result != CL_SUCCESS || count == 0) {
    return Status(Code::unavailable,
                  "OpenCL has no platform here; install a vendor's driver, or the Debian package "
                  "pocl-opencl-icd for the processor");
  }
  std::vector<cl_platform_id> platforms(count);
  OB_RETURN_IF_ERROR(
      Cl::check(cl->clGetPlatformIDs(count, platforms.data(), nullptr), "asking for platforms"));
  std::vector<Accelerator> found;
  std::string names;
  Status why;
  for (const cl_platform_id platform : platforms) {
    Status added = add_devices(*cl, platform, found);
    if (!added.ok()) why = std::move(added);  // the platform of another vendor may work
    names += (names.empty() ? "" : ", ") + platform_text(*cl, platform, CL_PLATFORM_NAME);
  }
  if (found.empty()) {
    return Status(Code::unavailable, "OpenCL has no usable device here (platforms: " + names + ")" +
                                         (why.ok() ? std::string() : "; " + why.message()));
  }
  std::stable_partition(found.begin(), found.end(), [](const Accelerator& a) { return !a.is_cpu; });
  return found;
}

}  // namespace

Result<const std::vector<Accelerator>*> Accelerator::all() {
  static const Result<std::vector<Accelerator>> found = find_all();
  if (!found.ok()) return found.status();
  return &found.value();
}

}  // namespace ob::opencl
