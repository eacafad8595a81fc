// The functions of modules and kernels.

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "api/copy_text.hpp"
#include "api/handles.hpp"
#include "api/kernel_objects.hpp"
#include "api/kernel_use.hpp"
#include "api/place.hpp"
#include "api/queue_use.hpp"
#include "api/sized_struct.hpp"

namespace ob::api {
namespace {

// --- modules -------------------------------------------------------------------------------------

Outcome read_variant(const ob_variant& given, ModuleVariant& variant) {
  if (given.flags != 0) return mistake("unknown flags of ob_variant; set them to 0");
  if (given.bytes == nullptr) return mistake("a variant without source (its bytes are NULL)");
  if (given.kind < OB_PORTABLE || given.kind > OB_CUBIN) {
    return mistake("the kind of a variant is unknown (" + std::to_string(given.kind) +
                   "); use OB_PORTABLE, OB_OPENCL, OB_CUDA, OB_PTX or OB_CUBIN");
  }
  variant.kind = static_cast<SourceKind>(given.kind);
  const auto* const bytes = static_cast<const char*>(given.bytes);
  std::size_t count = given.count;
  if (count == 0 && given.kind != OB_CUBIN) count = ::strnlen(bytes, kMostSourceBytes + 1);
  if (count > kMostBinaryBytes) return mistake("a module of more than 64 MiB");
  variant.text.assign(bytes, count);
  if (given.architecture != nullptr) variant.architecture = given.architecture;
  return {};
}

Outcome load_module(ob_device handle, const ob_variant* variants, std::size_t count,
                    const char* options, ob_module* made) {
  if (made == nullptr) return mistake("no place for the module (the pointer is NULL)");
  if (variants == nullptr) return mistake("no variants (the pointer is NULL)");
  if (count > kMostVariants) {
    return mistake(std::to_string(count) + " variants of a module; it has 1 to " +
                   std::to_string(kMostVariants));
  }
  OB_ASSIGN_OR_RETURN(const DevicePtr device, find<OpenDevice>(handle));
  OB_RETURN_IF_ERROR(device->runs_kernels());
  ModuleSource source;
  source.variants.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (Outcome read = read_variant(variants[i], source.variants[i]); !read.ok()) return read;
  }
  if (options != nullptr) source.options = options;
  const auto build = std::make_shared<ModuleBuild>();
  OB_ASSIGN_OR_RETURN(
      const ModuleId id,
      (*device)->load_module(std::move(source),
                             [build](const ModuleReport& report) { build->finish(report); }));
  *made = add(std::make_shared<Module>(device, id, build));
  return {};
}

Outcome wait_for_module(ob_module handle, std::int64_t timeout_ms) {
  OB_ASSIGN_OR_RETURN(const auto module, find<Module>(handle));
  OB_ASSIGN_OR_RETURN(const Deadline deadline, deadline_after(timeout_ms));
  const ModuleReport* const report = module->build->await(deadline);
  if (report != nullptr) return report->status;
  return Outcome(Status(Code::deadline_exceeded, "the module is still being compiled; wait again"));
}

Outcome copy_log(ob_module handle, char* text, std::size_t* bytes) {
  if (bytes == nullptr) return mistake("no size of the log (the pointer is NULL)");
  OB_ASSIGN_OR_RETURN(const auto module, find<Module>(handle));
  const ModuleReport* const report = module->build->known();
  if (report == nullptr) {
    return Outcome(Status(Code::deadline_exceeded,
                          "the module is still being compiled; call ob_module_wait() first"));
  }
  const std::string& log = report->log;
  if (text != nullptr && *bytes > 0) {
    const std::size_t fits = std::min(log.size(), *bytes - 1);
    std::memcpy(text, log.data(), fits);
    text[fits] = '\0';
  }
  *bytes = log.size() + 1;
  return {};
}

// --- kernels -------------------------------------------------------------------------------------

Outcome create_kernel(ob_module handle, const char* name, ob_kernel* made) {
  if (made == nullptr) return mistake("no place for the kernel (the pointer is NULL)");
  if (name == nullptr || *name == '\0') return mistake("a kernel without a name");
  OB_ASSIGN_OR_RETURN(const auto module, find<Module>(handle));
  const ModuleReport* const report = module->build->known();
  if (report != nullptr && report->status.ok()) {
    const auto& kernels = report->kernels;
    const bool known = std::any_of(kernels.begin(), kernels.end(), [&](const KernelFacts& kernel) {
      return kernel.signature.name == name;
    });
    if (!known) return no_such_kernel(name, kernels);
  }
  *made = add(std::make_shared<Kernel>(module, name));
  return {};
}

Outcome get_parameter(ob_kernel handle, std::uint32_t index, ob_parameter* given) {
  if (Outcome outcome = check_size(given, "ob_parameter"); !outcome.ok()) return outcome;
  OB_ASSIGN_OR_RETURN(const auto kernel, find<Kernel>(handle));
  OB_ASSIGN_OR_RETURN(const KernelSignature* signature, kernel->signature());
  const auto& parameters = signature->parameters;
  if (index >= parameters.size() && index != 0) {
    return mistake("kernel " + kernel->name + " has no parameter " + std::to_string(index) +
                   " (it has " + std::to_string(parameters.size()) + ")");
  }
  ob_parameter result{};
  result.count = static_cast<std::uint32_t>(parameters.size());
  if (!parameters.empty()) {
    const KernelParameter& parameter = parameters[index];
    result.kind = static_cast<std::int32_t>(parameter.kind);
    result.bytes = parameter.bytes;
    result.read_only = parameter.read_only ? 1 : 0;
    copy_text(result.type, parameter.type);
    copy_text(result.name, parameter.name);
  }
  give(result, *given);
  return {};
}

Outcome read_argument(const ob_argument& given, const OpenDevice& device, KernelArgument& argument,
                      std::shared_ptr<Buffer>& buffer) {
  if (given.reserved != 0 ||
      (given.access & ~std::uint32_t{OB_ACCESS_READ | OB_ACCESS_WRITE}) != 0) {
    return mistake(
        "unknown flags of ob_argument; access is 0, OB_ACCESS_READ, OB_ACCESS_WRITE or both");
  }
  argument.bytes = given.bytes;
  switch (given.kind) {
    case OB_ARGUMENT_BUFFER: {
      argument.kind = ParameterKind::buffer;
      OB_ASSIGN_OR_RETURN(buffer, buffer_of(given.as.place, device));
      argument.place = {buffer->id, given.as.place.offset_bytes};
      argument.extent_bytes = given.extent_bytes;
      return {};
    }
    case OB_ARGUMENT_SCALAR:
      argument.kind = ParameterKind::scalar;
      argument.value = given.as.value;
      if (argument.value != nullptr && given.bytes > 0 && given.bytes <= kMostScalarBytes)
        return {};
      return mistake("a number of " + std::to_string(given.bytes) +
                     " bytes as argument of a kernel, or none (it has 1 to " +
                     std::to_string(kMostScalarBytes) + ")");
    case OB_ARGUMENT_LOCAL:
      argument.kind = ParameterKind::local;
      if (given.bytes > 0) return {};
      return mistake("local memory of 0 bytes");
    default: break;
  }
  return mistake("the kind of an argument is unknown (" + std::to_string(given.kind) +
                 "); use OB_ARGUMENT_BUFFER, OB_ARGUMENT_SCALAR or OB_ARGUMENT_LOCAL");
}

Outcome set_kernel_argument(ob_kernel handle, std::uint32_t index, const ob_argument* given) {
  if (given == nullptr) return mistake("no argument (the pointer is NULL)");
  OB_ASSIGN_OR_RETURN(const KernelUse kernel, KernelUse::begin(handle));
  KernelArgument argument;
  std::shared_ptr<Buffer> buffer;
  Outcome outcome = read_argument(*given, *kernel->device, argument, buffer);
  if (outcome.ok()) outcome = kernel->set(index, argument, buffer);
  outcome.name = kernel->name;
  return outcome;
}

Outcome run_kernel(ob_kernel kernel_handle, ob_queue queue_handle, const std::uint32_t* groups,
                   const std::uint32_t* group_size) {
  if (groups == nullptr || group_size == nullptr) {
    return mistake("no groups, or no size of a group (the pointer is NULL)");
  }
  OB_ASSIGN_OR_RETURN(const KernelUse kernel, KernelUse::begin(kernel_handle));
  OB_ASSIGN_OR_RETURN(const QueueUse queue, QueueUse::begin(queue_handle));
  if (kernel->device != queue->device) {
    return mistake("the kernel and the queue are of two devices; load the module on the queue's");
  }
  Outcome outcome = kernel->run(queue->id, {groups[0], groups[1], groups[2]},
                                {group_size[0], group_size[1], group_size[2]});
  if (outcome.ok()) queue->count(kernel->name);
  outcome.name = kernel->name;
  return outcome;
}

}  // namespace
}  // namespace ob::api

using namespace ob::api;  // NOLINT(google-build-using-namespace): exported C functions only

OB_EXPORT ob_status ob_module_load(ob_device device, const ob_variant* variants, size_t count,
                                   const char* options, ob_module* module) {
  return answer([&] { return load_module(device, variants, count, options, module); });
}

OB_EXPORT ob_status ob_module_wait(ob_module module, int64_t timeout_ms) {
  return answer([&] { return wait_for_module(module, timeout_ms); });
}

OB_EXPORT ob_status ob_module_log(ob_module module, char* text, size_t* bytes) {
  return answer([&] { return copy_log(module, text, bytes); });
}

OB_EXPORT ob_status ob_module_unload(ob_module module) {
  return answer([&]() -> Outcome { return take<Module>(module).status(); });
}

OB_EXPORT ob_status ob_kernel_create(ob_module module, const char* name, ob_kernel* kernel) {
  return answer([&] { return create_kernel(module, name, kernel); });
}

OB_EXPORT ob_status ob_kernel_destroy(ob_kernel kernel) {
  return answer([&]() -> Outcome { return take<Kernel>(kernel).status(); });
}

OB_EXPORT ob_status ob_kernel_get_parameter(ob_kernel kernel, uint32_t index,
                                            ob_parameter* parameter) {
  return answer([&] { return get_parameter(kernel, index, parameter); });
}

OB_EXPORT ob_status ob_kernel_set(ob_kernel kernel, uint32_t index, const ob_argument* argument) {
  return answer([&] { return set_kernel_argument(kernel, index, argument); });
}

OB_EXPORT ob_status ob_kernel_run(ob_kernel kernel, ob_queue queue, const uint32_t groups[3],
                                  const uint32_t group_size[3]) {
  return answer([&] { return run_kernel(kernel, queue, groups, group_size); });
}
