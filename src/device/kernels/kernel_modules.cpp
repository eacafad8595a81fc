#include "device/kernels/kernel_modules.hpp"

#include <algorithm>
#include <utility>

#include "base/contained.hpp"

namespace ob {
namespace {

// Values of up to 16 doubles lie at multiples of this.
constexpr std::size_t aligned(std::size_t bytes) noexcept { return (bytes + 15) / 16 * 16; }

std::uint64_t work_items(const BoundLaunch& launch) {
  std::uint64_t items = 1;
  for (std::size_t i = 0; i < 3; ++i)
    items *= std::uint64_t{launch.groups[i]} * launch.group_size[i];
  return items;
}

}  // namespace

// --- launches ------------------------------------------------------------------------------------

Status PendingLaunch::prepare(std::uint64_t& waited_ns) {
  waited_ns += module_->built.wait();
  if (!module_->status.ok()) return module_->status.in("the module of kernel " + name_);
  const std::vector<KernelFacts>& kernels = module_->program->kernels();
  const auto kernel = std::find_if(kernels.begin(), kernels.end(), [&](const KernelFacts& facts) {
    return facts.signature.name == name_;
  });
  if (kernel == kernels.end()) return no_such_kernel(name_, kernels);
  bound_.kernel = static_cast<std::size_t>(kernel - kernels.begin());
  KernelLaunch launch;
  launch.groups = bound_.groups;
  launch.group_size = bound_.group_size;
  launch.arguments = arguments_;
  return check_launch(*kernel, launch);
}

// The values of the caller are valid only until launch() returns.
Status PendingLaunch::copy_values() {
  std::size_t bytes = 0;
  for (const KernelArgument& argument : arguments_) {
    if (argument.kind != ParameterKind::scalar) continue;
    if (argument.bytes > kMostScalarBytes || argument.value == nullptr) {
      return {Code::invalid_argument, "a number of " + std::to_string(argument.bytes) +
                                          " bytes for kernel " + name_ + " (at most " +
                                          std::to_string(kMostScalarBytes) + ")"};
    }
    bytes += aligned(argument.bytes);
  }
  values_.resize(bytes);
  std::byte* next = values_.data();
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    KernelArgument& argument = arguments_[i];
    if (argument.kind != ParameterKind::scalar) continue;
    std::copy_n(static_cast<const std::byte*>(argument.value), argument.bytes, next);
    argument.value = bound_.arguments[i].data = next;
    next += aligned(argument.bytes);
  }
  return {};
}

Status PendingLaunch::hold_buffers(const MemoryTable& memory) {
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const KernelArgument& argument = arguments_[i];
    if (argument.kind != ParameterKind::buffer) continue;
    HeldMemory held = memory.held(argument.place.buffer);
    if (held.owner == nullptr) {
      return {Code::invalid_argument,
              "argument " + std::to_string(i) + " of kernel " + name_ + ": buffer " +
                  std::to_string(argument.place.buffer.value) + " does not exist"};
    }
    OB_RETURN_IF_ERROR(check_extent(name_, i, argument, held.size_bytes));
    const std::uint64_t offset_bytes = argument.place.offset_bytes;
    bound_.arguments[i].data = held.data + offset_bytes;
    bound_.arguments[i].bytes =
        argument.extent_bytes != 0 ? argument.extent_bytes : held.size_bytes - offset_bytes;
    bound_.arguments[i].buffer = std::move(held.owner);
  }
  return {};
}

// Kinds of kernels lie above those of routines and transforms. Their numbers may be equal, which
// makes a predicted time wrong.
Computation PendingLaunch::computation(const Account& account) const {
  const std::uint64_t kind = (std::uint64_t{1} << 48) + (module_number_ << 16) + bound_.kernel;
  return {account, kind, static_cast<double>(work_items(bound_)), name_, true};
}

Status PendingLaunch::run_some(std::span<PendingLaunch* const> launches, HostQueue& queue,
                               const KernelCaller* caller, std::size_t& ran) {
  std::vector<const BoundLaunch*> bound;
  bound.reserve(launches.size());
  for (PendingLaunch* const launch : launches) {
    launch->bound_.caller = caller;
    bound.push_back(&launch->bound_);
  }
  return launches.front()->module_->program->run_some(bound, queue, ran);
}

// --- modules -------------------------------------------------------------------------------------

KernelModules::~KernelModules() {
  for (const auto& module : modules_.take_all()) module->unloaded = true;
  builder_.finish();
}

std::uint32_t KernelModules::kinds() const {
  if (!usable().ok()) return 0;
  std::uint32_t kinds = 0;
  for (auto kind = SourceKind::portable; kind <= SourceKind::cubin;
       kind = static_cast<SourceKind>(static_cast<unsigned>(kind) + 1)) {
    if (runner_->takes({kind, {}, {}})) kinds |= 1U << static_cast<unsigned>(kind);
  }
  return kinds;
}

Result<ModuleId> KernelModules::load(ModuleSource source,
                                     std::function<void(const ModuleReport&)> built,
                                     const Account& account) {
  OB_RETURN_IF_ERROR(check_source(source));
  OB_RETURN_IF_ERROR(usable());
  // A daemon counts those of each session.
  if (count_.fetch_add(1) >= kMostModules && !account.session) {
    --count_;
    return Status(Code::out_of_memory, "more than " + std::to_string(kMostModules) +
                                           " modules of a device; unload some");
  }
  if (Status admitted = builder_.admit(account); !admitted.ok()) {
    --count_;
    return admitted;
  }
  auto module = std::make_shared<LoadedModule>();
  module->account = account;
  module->source = std::move(source);
  module->on_built = std::move(built);
  const ModuleId id = modules_.add(module);
  // The work holds the module itself, so that one that is unloaded early still gets its report. A
  // launch that waits for it holds it, too: then somebody wants it.
  builder_.submit(account, false, module, [this, held = module](LoadedModule& waiting) {
    constexpr long kOwnHolders = 2;  // the planner's work, and `held`
    build(waiting, !waiting.unloaded || held.use_count() > kOwnHolders);
  });
  return id;
}

Status KernelModules::unload(ModuleId id) {
  const auto module = modules_.take(id);
  if (module == nullptr) {
    return {Code::invalid_argument, "module " + std::to_string(id.value) + " does not exist"};
  }
  --count_;
  module->unloaded = true;
  return {};
}

void KernelModules::build(LoadedModule& module, bool wanted) const {
  ModuleReport report;
  report.status = contained([&]() -> Status {
    if (!wanted) return {Code::build_failed, "the module was unloaded before it was compiled"};
    OB_ASSIGN_OR_RETURN(module.program, compile(module, report.log));
    report.kernels = module.program->kernels();
    return {};
  });
  report.log = shorten_log(std::move(report.log));
  module.source = {};
  module.status = report.status;
  module.built.set();
  if (module.on_built) module.on_built(report);
  module.on_built = nullptr;  // which may hold what holds this module
}

Result<std::unique_ptr<KernelProgram>> KernelModules::compile(const LoadedModule& module,
                                                              std::string& log) const {
  OB_ASSIGN_OR_RETURN(const auto definitions, parse_options(module.source.options));
  std::string kinds;
  for (const ModuleVariant& variant : module.source.variants) {
    if (runner_->takes(variant)) {
      return runner_->compile_for(module.account, variant, definitions, log);
    }
    kinds.append(kinds.empty() ? "" : ", ").append(to_string(variant.kind));
  }
  return Status(Code::unsupported, "the device takes none of the module's variants (" + kinds +
                                       "); add a portable one");
}

Result<std::unique_ptr<PendingLaunch>> KernelModules::bind(const MemoryTable& memory,
                                                           const KernelLaunch& launch) const {
  OB_RETURN_IF_ERROR(check_extents(launch));
  auto bound = std::make_unique<PendingLaunch>();
  bound->module_ = modules_.find(launch.module);
  if (bound->module_ == nullptr) {
    return Status(Code::invalid_argument,
                  "module " + std::to_string(launch.module.value) + " does not exist");
  }
  bound->module_number_ = launch.module.value;
  bound->name_ = std::string(launch.kernel);
  bound->bound_.groups = launch.groups;
  bound->bound_.group_size = launch.group_size;
  bound->arguments_.assign(launch.arguments.begin(), launch.arguments.end());
  for (const KernelArgument& argument : launch.arguments) {
    bound->bound_.arguments.push_back({argument.kind, nullptr, argument.bytes, nullptr});
  }
  OB_RETURN_IF_ERROR(bound->copy_values());
  OB_RETURN_IF_ERROR(bound->hold_buffers(memory));
  return bound;
}

}  // namespace ob
