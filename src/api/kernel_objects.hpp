#pragma once
// Modules and kernels behind the handles.

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/objects.hpp"
#include "device/kernels/launch.hpp"
#include "device/kernels/module.hpp"

namespace ob::api {

/// The outcome of a compilation, which may come when its module is gone.   Threads: any
class ModuleBuild {
 public:
  void finish(const ModuleReport& report);
  /// Returns the outcome; nullptr if the deadline passes first.
  /// Memory: constant, lives as long as this object
  const ModuleReport* await(Deadline deadline) const;
  /// Returns the outcome if it is known, else nullptr.
  const ModuleReport* known() const { return await(Deadline::min()); }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable finished_;
  std::optional<ModuleReport> report_;
};

struct Module {
  Module(DevicePtr from, ModuleId module, std::shared_ptr<const ModuleBuild> made)
      : device(std::move(from)), id(module), build(std::move(made)) {}
  ~Module() { (void)(*device)->unload_module(id); }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const DevicePtr device;
  const ModuleId id;
  const std::shared_ptr<const ModuleBuild> build;
};

/// A kernel with its arguments.   Threads: owner of a KernelUse only, except the constructor
class Kernel {
 public:
  Kernel(std::shared_ptr<Module> of, std::string called)
      : device(of->device), module(std::move(of)), name(std::move(called)) {}

  const DevicePtr device;
  const std::shared_ptr<Module> module;
  const std::string name;

  /// Sets an argument. A number is copied; a buffer is not kept alive.
  /// Errors: invalid_argument if it does not fit the kernel, which is known once compiled
  Status set(std::size_t index, const KernelArgument& argument,
             const std::shared_ptr<Buffer>& buffer);
  /// Returns the signature.   Errors: deadline_exceeded while it is not known; build_failed
  Result<const KernelSignature*> signature() const;
  /// Hands the kernel over with its present arguments.
  /// Errors: invalid_argument; those of Device::launch()
  Status run(QueueId queue, const std::array<std::uint32_t, 3>& groups,
             const std::array<std::uint32_t, 3>& group_size) const;

 private:
  friend class KernelUse;
  struct Argument {
    bool set = false;
    KernelArgument value;  // the value of a number is in `bytes`
    std::weak_ptr<Buffer> buffer;
    alignas(16) std::array<std::byte, kMostScalarBytes> bytes;
  };
  /// Returns the facts of the kernel; nullptr while they are not known.
  Result<const KernelFacts*> facts() const;

  std::atomic<bool> in_use_{false};
  std::vector<Argument> arguments_;
};

}  // namespace ob::api
