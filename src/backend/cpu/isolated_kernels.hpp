#pragma once
// Kernels of programs in a process for each session.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/host_segment.hpp"
#include "device/kernels/kernel_runner.hpp"
#include "executor/executors.hpp"

namespace ob::cpu {

/// Passes modules and launches to the process of their session, which maps the segments that a
/// launch names. A process that has ended is replaced by the next launch; it gets the modules
/// again. The process of a session ends with its last module.
/// Threads: any
class IsolatedKernels final : public KernelRunner {
 public:
  /// A session whose processes end more often in a minute gets none for a while.
  static constexpr std::size_t kMostEnds = 5;

  explicit IsolatedKernels(executor::Program program);
  ~IsolatedKernels() override;

  /// Checks that there is a compiler. Lets the first process start.
  Status usable() const override;
  std::uint64_t process_deaths() const noexcept override;
  bool takes(const ModuleVariant& variant) const override;
  Result<std::unique_ptr<KernelProgram>> compile(const ModuleVariant& variant,
                                                 const std::vector<Definition>& definitions,
                                                 std::string& log) const override;
  Result<std::unique_ptr<KernelProgram>> compile_for(const Account& account,
                                                     const ModuleVariant& variant,
                                                     const std::vector<Definition>& definitions,
                                                     std::string& log) const override;

 private:
  class Workers;
  class Program;

  const std::shared_ptr<Workers> workers_;
};

}  // namespace ob::cpu
