#pragma once
// A backend implements these classes so that its devices run kernels.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "device/host_queue.hpp"
#include "device/kernels/module.hpp"

namespace ob {

/// An argument of a checked launch.
struct BoundArgument {
  ParameterKind kind = ParameterKind::scalar;
  std::byte* data = nullptr;  ///< a buffer's place, an address of the device; a scalar's value
  std::uint64_t bytes = 0;
  std::shared_ptr<const void> buffer;  ///< that holds a buffer's place, as HeldMemory::owner
};

/// The client of a launch or a module, and the reasons to stop it.
struct KernelCaller {
  Account account;
  /// Fails as soon as a kernel that has run for this time must end. It is called many times a
  /// second, only if the runner can stop kernels.
  std::function<Status(std::chrono::duration<double> took)> stop;
};

/// A checked launch.
struct BoundLaunch {
  std::size_t kernel = 0;  ///< number in KernelProgram::kernels()
  std::array<std::uint32_t, 3> groups{};
  std::array<std::uint32_t, 3> group_size{};
  std::vector<BoundArgument> arguments;
  const KernelCaller* caller = nullptr;  ///< nullptr: the process itself
};

/// Compiled kernels.   Threads: any
class KernelProgram {
 public:
  virtual ~KernelProgram() = default;
  virtual const std::vector<KernelFacts>& kernels() const noexcept = 0;
  /// Runs a kernel in a command of `queue`, a queue of the device's own kind. Whether it has run
  /// when the function returns depends on that kind, as for library calls.
  /// Errors: kernel_fault if it failed while it ran; out_of_memory; unsupported if an argument does
  ///         not suit the device; device_error
  virtual Status run(const BoundLaunch& launch, HostQueue& queue) const = 0;
  /// Returns the number of launches that run_some() may run at most.
  virtual std::size_t most_together() const noexcept { return 1; }
  /// Runs the first of these launches as run() does, and then as many of the others, one after
  /// another, as suits the runner. It ends at the first failure.
  /// @param ran gets the number of launches that ran without failure, which is not 0 if the result
  ///            is ok; a failure is that of the next one
  /// @pre !launches.empty()
  virtual Status run_some(std::span<const BoundLaunch* const> launches, HostQueue& queue,
                          std::size_t& ran) const {
    Status status = run(*launches.front(), queue);
    ran = status.ok() ? 1 : 0;
    return status;
  }
};

/// Compiles kernels for a device.   Threads: any
class KernelRunner {
 public:
  virtual ~KernelRunner() = default;
  /// Tells whether kernels can run here. The first call may open libraries.
  /// Errors: unsupported, with what is to be installed
  virtual Status usable() const = 0;
  /// Returns the number of processes of clients that have ended before they were told to.
  virtual std::uint64_t process_deaths() const noexcept { return 0; }
  /// Returns true for variants that compile() takes.
  virtual bool takes(const ModuleVariant& variant) const = 0;
  /// Compiles a variant; may take seconds.
  /// @param log gets the compiler's words, also of a success
  /// Errors: build_failed; out_of_memory; device_error
  virtual Result<std::unique_ptr<KernelProgram>> compile(const ModuleVariant& variant,
                                                         const std::vector<Definition>& definitions,
                                                         std::string& log) const = 0;
  /// Does the same for a client. A runner that keeps clients apart implements it.
  virtual Result<std::unique_ptr<KernelProgram>> compile_for(
      const Account& /*account*/, const ModuleVariant& variant,
      const std::vector<Definition>& definitions, std::string& log) const {
    return compile(variant, definitions, log);
  }
};

}  // namespace ob
