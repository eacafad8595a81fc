#pragma once
// Modules, their reports and launches as they travel: to daemons (docs/wire.md, sections 4.30 to
// 4.33), and from daemons to the processes that run kernels.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "device/kernels/launch.hpp"
#include "device/kernels/module.hpp"
#include "wire/message.hpp"

namespace ob {

/// Describes a module. Its payload is the options and the texts, one after another.
/// Errors: invalid_argument for an architecture that is too long   @pre check_source(source) is ok
Result<wire::LoadModule> describe_module(ModuleId id, const ModuleSource& source);
/// Appends the payload of describe_module().
std::vector<std::byte> module_payload(const ModuleSource& source);
/// Takes a module apart.   Errors: protocol_error if the payload is not as long as the message says
Result<ModuleSource> read_module(const wire::LoadModule& message,
                                 std::span<const std::byte> payload);

/// Returns the payload of a report: the log, then the kernels.
/// Errors: build_failed if it is larger than wire::kMaxReportBytes, or a name is too long
Result<std::vector<std::byte>> report_payload(const ModuleReport& report);
/// Reads log and kernels into `report`.   Errors: protocol_error
Status read_report(std::uint32_t kernels, std::uint64_t log_bytes,
                   std::span<const std::byte> payload, ModuleReport& report);

/// Errors: unsupported for a launch with more bytes of values, or a longer name, than a message
///         has; invalid_argument
Result<wire::Launch> describe_launch(const KernelLaunch& launch);
/// Returns the arguments of a launch; their values lie in the message.
std::vector<KernelArgument> read_arguments(const wire::Launch& message);

}  // namespace ob
