#include "backend/opencl/kernel_program.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "device/kernels/prelude.hpp"
#include "device/kernels/signatures.hpp"

namespace ob::opencl {
namespace {

constexpr const char* kOptions = "-cl-std=CL1.2 -cl-kernel-arg-info";

std::string log_of(const Cl& cl, cl_program program, cl_device_id device) {
  std::size_t bytes = 0;
  if (cl.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes) !=
          CL_SUCCESS ||
      bytes == 0) {
    return {};
  }
  std::string log(bytes, '\0');
  (void)cl.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr);
  return log.substr(0, log.find('\0'));
}

// The kernel objects that read facts, and those of launches.
struct KernelOwner {
  const Cl& cl;
  cl_kernel kernel;
  ~KernelOwner() {
    if (kernel != nullptr) (void)cl.clReleaseKernel(kernel);
  }
};

struct EventOwner {
  const Cl& cl;
  cl_event event = nullptr;
  ~EventOwner() {
    if (event != nullptr) (void)cl.clReleaseEvent(event);
  }
};

struct BufferOwners {
  const Cl& cl;
  std::vector<cl_mem> owned;
  ~BufferOwners() {
    for (const cl_mem memory : owned) (void)cl.clReleaseMemObject(memory);
  }
};

Status read_device_limits(const Cl& cl, cl_device_id device, KernelFacts& facts) {
  std::array<std::size_t, 3> extents{};
  OB_RETURN_IF_ERROR(Cl::check(cl.clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES,
                                                  sizeof extents, extents.data(), nullptr),
                               "asking for the sizes of groups"));
  std::copy(extents.begin(), extents.end(), facts.largest_extents.begin());
  cl_ulong local_bytes = 0;
  OB_RETURN_IF_ERROR(Cl::check(cl.clGetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_SIZE,
                                                  sizeof local_bytes, &local_bytes, nullptr),
                               "asking for local memory"));
  facts.largest_local_bytes = local_bytes;
  return {};
}

Status read_facts(const Cl& cl, cl_program program, cl_device_id device, KernelFacts& facts) {
  cl_int result = CL_SUCCESS;
  const std::string& name = facts.signature.name;
  const KernelOwner owner{cl, cl.clCreateKernel(program, name.c_str(), &result)};
  if (result == CL_INVALID_KERNEL_NAME) {
    return {Code::build_failed, "kernel " + name +
                                    ": the compiler does not know it (a function of OpenCL C may "
                                    "have its name, or it has no body); give it another name"};
  }
  OB_RETURN_IF_ERROR(Cl::check(result, "kernel " + name));
  cl_uint parameters = 0;
  OB_RETURN_IF_ERROR(Cl::check(
      cl.clGetKernelInfo(owner.kernel, CL_KERNEL_NUM_ARGS, sizeof parameters, &parameters, nullptr),
      "kernel " + name));
  if (parameters != facts.signature.parameters.size()) {
    return {Code::build_failed, "kernel " + name +
                                    ": its parameters cannot be read (they come from macros with "
                                    "parameters); write them out"};
  }
  std::size_t group = 0;
  OB_RETURN_IF_ERROR(
      Cl::check(cl.clGetKernelWorkGroupInfo(owner.kernel, device, CL_KERNEL_WORK_GROUP_SIZE,
                                            sizeof group, &group, nullptr),
                "kernel " + name));
  facts.largest_group = group;
  cl_ulong local_bytes = 0;
  OB_RETURN_IF_ERROR(
      Cl::check(cl.clGetKernelWorkGroupInfo(owner.kernel, device, CL_KERNEL_LOCAL_MEM_SIZE,
                                            sizeof local_bytes, &local_bytes, nullptr),
                "kernel " + name));
  facts.static_local_bytes = local_bytes;
  return read_device_limits(cl, device, facts);
}

Status build(const Cl& cl, const Accelerator& accelerator, cl_program program, std::string& log) {
  const cl_int result =
      cl.clBuildProgram(program, 1, &accelerator.device, kOptions, nullptr, nullptr);
  log = log_of(cl, program, accelerator.device);
  if (result == CL_BUILD_PROGRAM_FAILURE || result == CL_COMPILE_PROGRAM_FAILURE ||
      result == CL_INVALID_BUILD_OPTIONS) {
    return {Code::build_failed, "the module does not compile (" + first_error(log) +
                                    "); the module's log has all of the compiler's words"};
  }
  return Cl::check(result, "compiling a module");
}

}  // namespace

Result<ClKernelProgram::Compiled> ClKernelProgram::compile(
    const Cl& cl, const Accelerator& accelerator, const ModuleVariant& variant,
    const std::vector<Definition>& definitions, std::string& log) {
  std::vector<Definition> known = kernels::opencl_definitions(accelerator.has_fp64);
  known.insert(known.end(), definitions.begin(), definitions.end());
  const auto dialect =
      variant.kind == SourceKind::portable ? kernels::Dialect::portable : kernels::Dialect::opencl;
  OB_ASSIGN_OR_RETURN(auto signatures, kernels::parse_signatures(variant.text, dialect, known));
  const std::string text =
      kernels::with_prelude(kernels::opencl_prelude(), definitions, variant.text);
  const char* source = text.c_str();
  cl_int result = CL_SUCCESS;
  Compiled compiled;
  compiled.program =
      cl.clCreateProgramWithSource(accelerator.context, 1, &source, nullptr, &result);
  OB_RETURN_IF_ERROR(Cl::check(result, "making a module"));
  Status status = build(cl, accelerator, compiled.program, log);
  for (KernelSignature& signature : signatures) {
    if (!status.ok()) break;
    KernelFacts facts{.signature = std::move(signature)};
    status = read_facts(cl, compiled.program, accelerator.device, facts);
    compiled.kernels.push_back(std::move(facts));
  }
  if (status.ok()) return compiled;
  (void)cl.clReleaseProgram(compiled.program);
  return status;
}

ClKernelProgram::~ClKernelProgram() { (void)cl_.clReleaseProgram(compiled_.program); }

Status ClKernelProgram::run_on(cl_command_queue queue, const BoundLaunch& launch) const {
  const std::string& name = compiled_.kernels[launch.kernel].signature.name;
  cl_int result = CL_SUCCESS;
  // A kernel object stores its arguments, so that each launch has its own one.
  const KernelOwner owner{cl_, cl_.clCreateKernel(compiled_.program, name.c_str(), &result)};
  OB_RETURN_IF_ERROR(Cl::check(result, "kernel " + name));
  return submit(queue, owner.kernel, launch).in("kernel " + name);
}

Status ClKernelProgram::submit(cl_command_queue queue, cl_kernel kernel,
                               const BoundLaunch& launch) const {
  BufferOwners owners{cl_, {}};
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    const BoundArgument& argument = launch.arguments[i];
    const void* value = argument.kind == ParameterKind::local ? nullptr : argument.data;
    std::size_t bytes = argument.bytes;
    KernelBuffer buffer;
    if (argument.kind == ParameterKind::buffer) {
      auto made = buffer_of(argument);
      if (!made.ok()) return made.status().in("argument " + std::to_string(i));
      buffer = *made;
      if (buffer.owned) owners.owned.push_back(buffer.memory);
      value = &buffer.memory;
      bytes = sizeof buffer.memory;
    }
    OB_RETURN_IF_ERROR(Cl::check(cl_.clSetKernelArg(kernel, static_cast<cl_uint>(i), bytes, value),
                                 "argument " + std::to_string(i)));
  }
  std::array<std::size_t, 3> global{};
  std::array<std::size_t, 3> local{};
  for (std::size_t i = 0; i < 3; ++i) {
    local[i] = launch.group_size[i];
    global[i] = local[i] * launch.groups[i];
  }
  EventOwner done{cl_};
  OB_RETURN_IF_ERROR(Cl::check(cl_.clEnqueueNDRangeKernel(queue, kernel, 3, nullptr, global.data(),
                                                          local.data(), 0, nullptr, &done.event),
                               "its launch"));
  if (const Status waited = Cl::check(cl_.clWaitForEvents(1, &done.event), "it failed");
      !waited.ok()) {
    return {Code::kernel_fault, waited.message() + "; what it was to write is undefined"};
  }
  return {};
}

}  // namespace ob::opencl
