#include "device/kernels/kernel_codec.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "wire/fields.hpp"
#include "wire/message_fields.hpp"

namespace ob {
namespace {

constexpr std::size_t kWord = sizeof(wire::LaunchWord);

void append(std::vector<std::byte>& to, std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Each record is a body of its own, so that the code that checks bodies reads it.
void put(wire::Body& body, const KernelFacts& kernel) {
  body.u32(static_cast<std::uint32_t>(kernel.signature.parameters.size()));
  for (const std::uint32_t extent : kernel.signature.required_group) body.u32(extent);
  body.u64(kernel.largest_group);
  for (const std::uint64_t extent : kernel.largest_extents) body.u64(extent);
  body.u64(kernel.static_local_bytes);
  body.u64(kernel.largest_local_bytes);
  body.text(kernel.signature.name, wire::kMaxNameBytes);
}

void put(wire::Body& body, const KernelParameter& parameter) {
  body.u8(static_cast<std::uint8_t>(parameter.kind));
  body.u8(parameter.read_only ? 1 : 0);
  body.u16(0);
  body.u32(parameter.bytes);
  body.text(parameter.type, wire::kMaxNameBytes);
  body.text(parameter.name, wire::kMaxNameBytes);
}

void take(wire::Fields& in, KernelParameter& parameter) {
  parameter.kind = in.up_to("kind", ParameterKind::local);
  if (parameter.kind < ParameterKind::buffer) in.refuse("kind", "is 0");
  parameter.read_only = in.flag("read_only");
  if (in.u16("reserved") != 0) in.refuse("reserved", "is not 0");
  parameter.bytes = in.u32("bytes");
  parameter.type = in.text("type", wire::kMaxNameBytes);
  parameter.name = in.text("name", wire::kMaxNameBytes);
}

void take(wire::Fields& in, KernelFacts& kernel) {
  const std::uint32_t parameters = in.u32("parameters");
  if (parameters > kMostKernelArguments) in.refuse("parameters", "are too many");
  for (std::uint32_t& extent : kernel.signature.required_group) extent = in.u32("required_group");
  kernel.largest_group = in.u64("largest_group");
  for (std::uint64_t& extent : kernel.largest_extents) extent = in.u64("largest_extents");
  kernel.static_local_bytes = in.u64("static_local_bytes");
  kernel.largest_local_bytes = in.u64("largest_local_bytes");
  kernel.signature.name = in.text("name", wire::kMaxNameBytes);
  for (std::uint32_t i = 0; in.ok() && i < parameters; ++i) {
    take(in, kernel.signature.parameters.emplace_back());
  }
}

Status check_names(const KernelFacts& kernel) {
  const auto too_long = [](const std::string& name) { return name.size() > wire::kMaxNameBytes; };
  const KernelSignature& signature = kernel.signature;
  const bool any = too_long(signature.name) ||
                   std::any_of(signature.parameters.begin(), signature.parameters.end(),
                               [&](const KernelParameter& parameter) {
                                 return too_long(parameter.type) || too_long(parameter.name);
                               });
  if (!any) return {};
  return {Code::build_failed, "kernel " + signature.name.substr(0, 64) +
                                  ": it, a parameter or a type has a name of more than " +
                                  std::to_string(wire::kMaxNameBytes) + " bytes"};
}

}  // namespace

// --- modules -------------------------------------------------------------------------------------

Result<wire::LoadModule> describe_module(ModuleId id, const ModuleSource& source) {
  wire::LoadModule message;
  message.module = id;
  message.option_bytes = static_cast<std::uint32_t>(source.options.size());
  for (const ModuleVariant& variant : source.variants) {
    if (variant.architecture.size() > wire::kMaxArchitectureBytes) {
      return Status(Code::invalid_argument,
                    "the architecture of a module has a name of more than " +
                        std::to_string(wire::kMaxArchitectureBytes) + " bytes");
    }
    message.variants.push_back(
        {static_cast<std::uint8_t>(variant.kind), variant.text.size(), variant.architecture});
  }
  return message;
}

std::vector<std::byte> module_payload(const ModuleSource& source) {
  std::vector<std::byte> payload;
  append(payload, source.options);
  for (const ModuleVariant& variant : source.variants) append(payload, variant.text);
  return payload;
}

Result<ModuleSource> read_module(const wire::LoadModule& message,
                                 std::span<const std::byte> payload) {
  if (message.payload_bytes() != payload.size()) {
    return Status(Code::protocol_error, "a module's payload is not as long as its parts");
  }
  ModuleSource source;
  source.options = text_of(payload.first(message.option_bytes));
  payload = payload.subspan(message.option_bytes);
  for (const wire::Variant& variant : message.variants) {
    source.variants.push_back({static_cast<SourceKind>(variant.kind),
                               text_of(payload.first(variant.bytes)), variant.architecture});
    payload = payload.subspan(variant.bytes);
  }
  return source;
}

// --- reports -------------------------------------------------------------------------------------

Result<std::vector<std::byte>> report_payload(const ModuleReport& report) {
  std::vector<std::byte> payload;
  append(payload, report.log);
  const auto add = [&](const auto& part) {
    wire::Body body;
    put(body, part);
    payload.insert(payload.end(), body.bytes().begin(), body.bytes().end());
  };
  for (const KernelFacts& kernel : report.kernels) {
    OB_RETURN_IF_ERROR(check_names(kernel));
    add(kernel);
    for (const KernelParameter& parameter : kernel.signature.parameters) add(parameter);
    if (payload.size() <= wire::kMaxReportBytes) continue;
    return Status(Code::build_failed,
                  "the module has too many kernels for a device behind a daemon; divide it");
  }
  return payload;
}

Status read_report(std::uint32_t kernels, std::uint64_t log_bytes,
                   std::span<const std::byte> payload, ModuleReport& report) {
  if (payload.size() > wire::kMaxReportBytes || log_bytes > payload.size()) {
    return {Code::protocol_error, "module: its payload is too large, or shorter than its log"};
  }
  report.log = text_of(payload.first(log_bytes));
  wire::Fields in("module", payload.subspan(log_bytes));
  for (std::uint32_t i = 0; in.ok() && i < kernels; ++i) take(in, report.kernels.emplace_back());
  return in.finish();
}

// --- launches ------------------------------------------------------------------------------------

Result<wire::Launch> describe_launch(const KernelLaunch& launch) {
  if (launch.arguments.size() > kMostKernelArguments) return check_extents(launch);
  wire::Launch message;
  message.module = launch.module;
  message.groups = launch.groups;
  message.group_size = launch.group_size;
  message.kernel = std::string(launch.kernel);
  std::uint64_t words = 0;
  bool fits = launch.kernel.size() <= wire::kMaxNameBytes;
  for (const KernelArgument& argument : launch.arguments) {
    wire::LaunchArgument& described = message.arguments.emplace_back();
    described.kind = static_cast<wire::ArgumentKind>(argument.kind);
    if (argument.kind == ParameterKind::buffer) {
      described.buffer = argument.place.buffer;
      described.offset_bytes = argument.place.offset_bytes;
      described.extent_bytes = argument.extent_bytes;
      continue;
    }
    described.bytes = argument.bytes;
    if (argument.kind == ParameterKind::local) continue;
    const std::uint64_t begin = words;
    words += wire::words_of(described);
    fits = fits && words <= wire::kMaxLaunchWords;
    if (!fits || argument.bytes == 0 || argument.value == nullptr) continue;
    message.values.resize(words);
    std::memcpy(&message.values[begin], argument.value, argument.bytes);
  }
  if (!fits) {
    return Status(Code::unsupported, "kernel " + message.kernel.substr(0, 64) +
                                         ": a launch behind a daemon has a name of at most " +
                                         std::to_string(wire::kMaxNameBytes) +
                                         " bytes, and at most " +
                                         std::to_string(wire::kMaxLaunchWords * kWord) +
                                         " bytes of numbers; put the numbers into a buffer");
  }
  return message;
}

std::vector<KernelArgument> read_arguments(const wire::Launch& message) {
  std::vector<KernelArgument> arguments;
  arguments.reserve(message.arguments.size());
  std::size_t word = 0;
  for (const wire::LaunchArgument& described : message.arguments) {
    KernelArgument& argument = arguments.emplace_back();
    argument.kind = static_cast<ParameterKind>(described.kind);
    argument.bytes = described.bytes;
    argument.place = {described.buffer, described.offset_bytes};
    argument.extent_bytes = described.extent_bytes;
    if (described.kind == wire::ArgumentKind::scalar) {
      argument.value = message.values.data() + word;
      word += wire::words_of(described);
    }
  }
  return arguments;
}

}  // namespace ob
