#include "device/kernels/launch.hpp"

#include <algorithm>
#include <string>

namespace ob {
namespace {

std::string name_of(const KernelSignature& kernel, std::size_t index) {
  return "argument " + std::to_string(index) + " (" + kernel.parameters[index].type + " " +
         kernel.parameters[index].name + ") of kernel " + kernel.name;
}

const char* describe(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::buffer: return "a buffer";
    case ParameterKind::scalar: return "a number";
    case ParameterKind::local: return "local memory";
  }
  return "unknown";
}

std::string text_of(const std::array<std::uint32_t, 3>& extents) {
  return std::to_string(extents[0]) + " x " + std::to_string(extents[1]) + " x " +
         std::to_string(extents[2]);
}

bool is_power_of_two(std::uint64_t number) { return number != 0 && (number & (number - 1)) == 0; }

Status check_local(const KernelFacts& kernel, const KernelLaunch& launch) {
  std::uint64_t bytes = kernel.static_local_bytes;
  for (const KernelArgument& argument : launch.arguments) {
    if (argument.kind == ParameterKind::local) bytes += argument.bytes;
  }
  if (kernel.largest_local_bytes == 0 || bytes <= kernel.largest_local_bytes) return {};
  return {Code::invalid_argument,
          "kernel " + kernel.signature.name + " needs " + std::to_string(bytes) +
              " bytes of local memory (the device has " +
              std::to_string(kernel.largest_local_bytes) + "); use smaller tiles"};
}

Status check_group(const KernelFacts& kernel, const KernelLaunch& launch) {
  const auto& required = kernel.signature.required_group;
  if (required[0] != 0 && required != launch.group_size) {
    return {Code::invalid_argument, "groups of " + text_of(launch.group_size) + " for kernel " +
                                        kernel.signature.name + "; its source demands " +
                                        text_of(required)};
  }
  std::uint64_t items = 1;  // three extents below 2^21 each do not overflow
  for (std::size_t i = 0; i < 3; ++i) {
    const std::uint64_t extent = launch.group_size[i];
    const std::uint64_t most = kernel.largest_extents[i];
    if (extent >= std::uint64_t{1} << 21 || (most != 0 && extent > most)) {
      return {Code::invalid_argument, "groups of " + text_of(launch.group_size) + " for kernel " +
                                          kernel.signature.name + " (dimension " +
                                          std::to_string(i) + " takes at most " +
                                          std::to_string(most) + " here); use smaller groups"};
    }
    items *= extent;
  }
  if (kernel.largest_group == 0 || items <= kernel.largest_group) return {};
  return {Code::invalid_argument, "groups of " + std::to_string(items) + " work-items for kernel " +
                                      kernel.signature.name + " (the device takes " +
                                      std::to_string(kernel.largest_group) +
                                      " of them); use smaller groups"};
}

}  // namespace

Status check_argument(const KernelSignature& kernel, std::size_t index,
                      const KernelArgument& argument) {
  if (index >= kernel.parameters.size()) {
    return {Code::invalid_argument, "kernel " + kernel.name + " has no argument " +
                                        std::to_string(index) + " (it takes " +
                                        std::to_string(kernel.parameters.size()) + ")"};
  }
  const KernelParameter& parameter = kernel.parameters[index];
  if (argument.kind != parameter.kind) {
    return {Code::invalid_argument, name_of(kernel, index) + " is " + describe(parameter.kind) +
                                        ", not " + describe(argument.kind)};
  }
  if (parameter.kind == ParameterKind::scalar && argument.bytes != parameter.bytes) {
    return {Code::invalid_argument, name_of(kernel, index) + " has " +
                                        std::to_string(parameter.bytes) + " bytes, not " +
                                        std::to_string(argument.bytes)};
  }
  if (parameter.kind == ParameterKind::buffer && is_power_of_two(parameter.bytes) &&
      argument.place.offset_bytes % parameter.bytes != 0) {
    return {Code::invalid_argument, name_of(kernel, index) + " begins at byte " +
                                        std::to_string(argument.place.offset_bytes) +
                                        " of its buffer; write a multiple of its element's " +
                                        std::to_string(parameter.bytes) + " bytes"};
  }
  return {};
}

Status check_launch(const KernelFacts& kernel, const KernelLaunch& launch) {
  const KernelSignature& signature = kernel.signature;
  if (launch.arguments.size() != signature.parameters.size()) {
    return {Code::invalid_argument, std::to_string(launch.arguments.size()) +
                                        " arguments for kernel " + signature.name + "; it takes " +
                                        std::to_string(signature.parameters.size())};
  }
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    OB_RETURN_IF_ERROR(check_argument(signature, i, launch.arguments[i]));
  }
  OB_RETURN_IF_ERROR(check_group(kernel, launch));
  return check_local(kernel, launch);
}

Status check_extents(const KernelLaunch& launch) {
  const auto none = [](std::uint32_t extent) { return extent == 0; };
  if (std::any_of(launch.groups.begin(), launch.groups.end(), none) ||
      std::any_of(launch.group_size.begin(), launch.group_size.end(), none)) {
    return {Code::invalid_argument,
            text_of(launch.groups) + " groups of " + text_of(launch.group_size) +
                " work-items (a launch of nothing); unused dimensions have the extent 1"};
  }
  if (launch.arguments.size() > kMostKernelArguments) {
    return {Code::invalid_argument, std::to_string(launch.arguments.size()) +
                                        " arguments of a kernel; it has at most " +
                                        std::to_string(kMostKernelArguments)};
  }
  return {};
}

Status check_extent(std::string_view kernel, std::size_t index, const KernelArgument& argument,
                    std::uint64_t buffer_bytes) {
  const std::uint64_t offset = argument.place.offset_bytes;
  if (offset < buffer_bytes && argument.extent_bytes <= buffer_bytes - offset) return {};
  return {Code::invalid_argument,
          "argument " + std::to_string(index) + " of kernel " + std::string(kernel) + ": " +
              std::to_string(argument.extent_bytes) + " bytes at byte " + std::to_string(offset) +
              " reach beyond the buffer of " + std::to_string(buffer_bytes) + " bytes"};
}

}  // namespace ob
