#include "backend/cpu/kernel_service.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "backend/cpu/executor_requests.hpp"
#include "device/kernels/kernel_codec.hpp"
#include "executor/linker.hpp"
#include "executor/sandbox.hpp"
#include "wire/codec.hpp"

namespace ob::cpu {
namespace {

// Launches of one request hold up others who wait for the device for this time and one kernel.
constexpr std::chrono::milliseconds kLongestTogether{1};

Status malformed_kernel_request() {
  return {Code::protocol_error, "a malformed request about kernels"};
}

// The compiler writes into the private folder only, and starts as many threads as the device has.
void set_environment(const KernelService::Config& config) {
  const auto set = [](const char* name, const std::string& value) {
    (void)::setenv(name, value.c_str(), 1);
  };
  for (const char* name : {"POCL_CACHE_DIR", "TMPDIR", "HOME", "XDG_CACHE_HOME"}) {
    set(name, config.folder);
  }
  set("PATH", "/usr/bin:/bin");
  set("POCL_MAX_PTHREAD_COUNT", std::to_string(config.threads));
  set("POCL_DEVICES", "pthread basic");  // launches of one group need no threads
}

}  // namespace

// The threads of the compiler and of its device start when they are opened. After that there are no
// new ones.
Status KernelService::start() {
  OB_RETURN_IF_ERROR(executor::can_restrict_files());
  set_environment(config_);
  OB_RETURN_IF_ERROR(executor::restrict_files({}, config_.folder));
  OB_RETURN_IF_ERROR(executor::start_linker_service());
  OB_RETURN_IF_ERROR(runner_->usable());
  return executor::restrict_kernel_calls(config_.memory_bytes);
}

Status KernelService::handle(std::size_t lane, std::uint32_t kind,
                             std::span<const std::byte> body) {
  if (lane != kCallLane) return malformed_kernel_request();
  switch (static_cast<KernelRequest>(kind)) {
    case KernelRequest::map: return map(body);
    case KernelRequest::load: return load(body);
    case KernelRequest::launch: return launch(body);
    case KernelRequest::launches: return launches(lane, body);
  }
  return malformed_kernel_request();
}

void KernelService::take_notice(std::size_t /*lane*/, std::uint64_t notice) {
  if ((notice & kPlanNotice) == 0) {
    segments_.erase(notice);
  } else {
    modules_.erase(ModuleId{notice & ~kPlanNotice});
  }
}

Status KernelService::map(std::span<const std::byte> body) {
  wire::Reader reader(body);
  const std::uint64_t id = reader.u64();
  const std::uint64_t size_bytes = reader.u64();
  Fd descriptor = executor::receive_descriptor();
  if (!reader.ok() || !descriptor) return malformed_kernel_request();
  auto segment = HostSegment::share(std::move(descriptor), size_bytes);
  OB_RETURN_IF_ERROR(segment.status());
  segments_[id] = std::move(segment).value();
  return {};
}

Status KernelService::load(std::span<const std::byte> body) {
  wire::Reader reader(body);
  const std::uint64_t size_bytes = reader.u64();
  Fd descriptor = executor::receive_descriptor();
  if (!reader.ok() || !descriptor) return malformed_kernel_request();
  OB_ASSIGN_OR_RETURN(const auto file, HostSegment::share(std::move(descriptor), size_bytes));
  const std::span<std::byte> all(file->data(), file->size_bytes());
  ModuleFile header;
  if (all.size() < sizeof header) return malformed_kernel_request();
  std::memcpy(&header, all.data(), sizeof header);
  const std::span<std::byte> rest = all.subspan(sizeof header);
  if (header.body_bytes > rest.size() || header.payload_bytes > rest.size() - header.body_bytes) {
    return malformed_kernel_request();
  }
  OB_ASSIGN_OR_RETURN(const auto message,
                      wire::decode<wire::LoadModule>(rest.first(header.body_bytes)));
  OB_ASSIGN_OR_RETURN(const ModuleSource source,
                      read_module(message, rest.subspan(header.body_bytes, header.payload_bytes)));
  return load(message.module, source, all);
}

Status KernelService::load(ModuleId id, const ModuleSource& source, std::span<std::byte> answer) {
  if (source.variants.size() != 1) return malformed_kernel_request();
  OB_ASSIGN_OR_RETURN(const auto definitions, parse_options(source.options));
  ModuleReport report;
  auto made = runner_->compile(source.variants.front(), definitions, report.log);
  report.log = shorten_log(std::move(report.log));
  if (made.ok()) report.kernels = (*made)->kernels();
  OB_ASSIGN_OR_RETURN(const std::vector<std::byte> payload, report_payload(report));
  if (payload.size() > answer.size() - sizeof(ModuleFile)) return malformed_kernel_request();
  const ModuleFile header{0, payload.size(), report.kernels.size(), report.log.size()};
  std::memcpy(answer.data(), &header, sizeof header);
  std::copy(payload.begin(), payload.end(), answer.begin() + sizeof header);
  OB_RETURN_IF_ERROR(made.status());
  modules_[id] = std::move(made).value();
  return {};
}

Result<BoundArgument> KernelService::bind(const wire::Launch& launch, std::size_t index,
                                          const KernelArgument& argument) const {
  BoundArgument bound{argument.kind, nullptr, argument.bytes, nullptr};
  if (argument.kind == ParameterKind::scalar) {
    bound.data = static_cast<std::byte*>(const_cast<void*>(argument.value));
  }
  if (argument.kind != ParameterKind::buffer) return bound;
  const auto found = segments_.find(argument.place.buffer.value);
  if (found == segments_.end()) return malformed_kernel_request();
  const HostSegment& segment = *found->second;
  OB_RETURN_IF_ERROR(check_extent(launch.kernel, index, argument, segment.size_bytes()));
  bound.data = segment.data() + argument.place.offset_bytes;
  bound.bytes = argument.extent_bytes;
  return bound;
}

Status KernelService::launch(std::span<const std::byte> body) {
  OB_ASSIGN_OR_RETURN(const auto message, wire::decode<wire::Launch>(body));
  const auto module = modules_.find(message.module);
  if (module == modules_.end()) return malformed_kernel_request();
  const std::vector<KernelFacts>& kernels = module->second->kernels();
  const auto kernel = std::find_if(kernels.begin(), kernels.end(), [&](const KernelFacts& facts) {
    return facts.signature.name == message.kernel;
  });
  if (kernel == kernels.end()) return no_such_kernel(message.kernel, kernels);
  const std::vector<KernelArgument> arguments = read_arguments(message);
  const KernelLaunch launch{message.module, message.kernel, message.groups, message.group_size,
                            arguments};
  OB_RETURN_IF_ERROR(check_extents(launch));
  OB_RETURN_IF_ERROR(check_launch(*kernel, launch));
  BoundLaunch bound;
  bound.kernel = static_cast<std::size_t>(kernel - kernels.begin());
  bound.groups = message.groups;
  bound.group_size = message.group_size;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    OB_ASSIGN_OR_RETURN(BoundArgument argument, bind(message, i, arguments[i]));
    bound.arguments.push_back(std::move(argument));
  }
  return module->second->run(bound, queue_);
}

Status KernelService::launches(std::size_t lane, std::span<const std::byte> body) {
  const auto end = std::chrono::steady_clock::now() + kLongestTogether;
  for (std::uint32_t done = 0; !body.empty();) {
    std::uint32_t bytes = 0;
    if (body.size() < sizeof bytes) return malformed_kernel_request();
    std::memcpy(&bytes, body.data(), sizeof bytes);
    body = body.subspan(sizeof bytes);
    if (bytes > body.size()) return malformed_kernel_request();
    OB_RETURN_IF_ERROR(launch(body.first(bytes)));
    tell_done(lane, ++done);
    if (std::chrono::steady_clock::now() >= end) break;
    body = body.subspan(bytes);
  }
  return {};
}

}  // namespace ob::cpu
