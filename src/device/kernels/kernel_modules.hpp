#pragma once
// The modules of a device, and the checks of launches.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/status.hpp"
#include "device/account.hpp"
#include "device/compute_time.hpp"
#include "device/handle_table.hpp"
#include "device/host_event.hpp"
#include "device/kernels/kernel_runner.hpp"
#include "device/kernels/launch.hpp"
#include "device/kernels/module.hpp"
#include "device/memory_table.hpp"
#include "device/planner.hpp"

namespace ob {

/// A module of a device.   Threads: any
struct LoadedModule {
  Account account;
  ModuleSource source;                                // empty once compiled
  std::function<void(const ModuleReport&)> on_built;  // called once
  std::atomic<bool> unloaded{false};
  mutable EventMark built;  // readers wait for it
  // Set before `built`, and constant after it.
  Status status;
  std::unique_ptr<KernelProgram> program;
};

/// A launch on its way to its turn. It keeps its module and its buffers alive.
/// Threads: one at a time
class PendingLaunch {
 public:
  /// True if prepare() does not wait.
  bool is_compiled() const noexcept { return module_->built.done(); }
  /// Waits until the module is compiled, and checks the launch against the kernel.
  /// @param waited_ns grows by the time of the wait
  /// Errors: build_failed; invalid_argument
  Status prepare(std::uint64_t& waited_ns);
  /// Describes the work.   @pre prepare() was ok
  Computation computation(const Account& account) const;
  /// Runs the kernel.   Errors: those of KernelProgram::run()   @pre prepare() was ok
  /// @param caller lives until the kernel has run
  Status run(HostQueue& queue, const KernelCaller* caller = nullptr) {
    bound_.caller = caller;
    return module_->program->run(bound_, queue);
  }
  /// As KernelProgram::most_together().   @pre prepare() was ok
  std::size_t most_together() const noexcept { return module_->program->most_together(); }
  /// True if run_some() takes both.
  bool has_module_of(const PendingLaunch& other) const noexcept { return module_ == other.module_; }
  /// Runs launches of one module as KernelProgram::run_some() does.
  /// @pre prepare() of each was ok, and all have the module of the first
  static Status run_some(std::span<PendingLaunch* const> launches, HostQueue& queue,
                         const KernelCaller* caller, std::size_t& ran);

 private:
  friend class KernelModules;
  Status copy_values();
  Status hold_buffers(const MemoryTable& memory);

  std::shared_ptr<const LoadedModule> module_;
  std::uint64_t module_number_ = 0;
  std::string name_;
  std::vector<KernelArgument> arguments_;
  std::vector<std::byte> values_;  // what scalar arguments point to
  BoundLaunch bound_;
};

/// Compiles modules one at a time, on a thread of its own.   Threads: any
class KernelModules {
 public:
  explicit KernelModules(std::shared_ptr<const KernelRunner> runner) : runner_(std::move(runner)) {}
  /// Ends compilations that have not begun, and waits for the one that runs.
  /// @pre no PendingLaunch is left
  ~KernelModules();
  KernelModules(const KernelModules&) = delete;
  KernelModules& operator=(const KernelModules&) = delete;

  Status usable() const { return runner_->usable(); }
  /// See KernelRunner::process_deaths().
  std::uint64_t process_deaths() const noexcept { return runner_->process_deaths(); }
  /// As Device::kernel_kinds().
  std::uint32_t kinds() const;
  /// As Device::load_module().
  Result<ModuleId> load(ModuleSource source, std::function<void(const ModuleReport&)> built,
                        const Account& account);
  Status unload(ModuleId module);
  /// Finds the module and the buffers of a launch.   Errors: invalid_argument
  Result<std::unique_ptr<PendingLaunch>> bind(const MemoryTable& memory,
                                              const KernelLaunch& launch) const;

 private:
  void build(LoadedModule& module, bool wanted) const;
  Result<std::unique_ptr<KernelProgram>> compile(const LoadedModule& module,
                                                 std::string& log) const;

  const std::shared_ptr<const KernelRunner> runner_;
  HandleTable<ModuleId, LoadedModule> modules_;
  std::atomic<std::size_t> count_{0};
  Planner builder_{0};  // its check of transforms is not used
};

}  // namespace ob
