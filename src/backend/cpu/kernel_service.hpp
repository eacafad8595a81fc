#pragma once
// The work of a process that compiles and runs the kernels of one session.

#include <memory>
#include <string>
#include <unordered_map>

#include "device/host_queue.hpp"
#include "device/host_segment.hpp"
#include "device/kernels/kernel_runner.hpp"
#include "device/kernels/launch.hpp"
#include "device/memory_table.hpp"
#include "executor/service.hpp"
#include "wire/message.hpp"

namespace ob::cpu {

/// Runs kernels on segments that the daemon shares with it. It checks launches once more.
class KernelService final : public executor::Service {
 public:
  struct Config {
    unsigned threads = 1;
    std::uint64_t memory_bytes = 0;  ///< limit of private memory
    std::string folder;              ///< for files of the compiler
  };
  KernelService(std::shared_ptr<const KernelRunner> runner, Config config)
      : runner_(std::move(runner)), config_(std::move(config)) {}

  Status start() override;
  Status handle(std::size_t lane, std::uint32_t kind, std::span<const std::byte> body) override;
  void take_notice(std::size_t lane, std::uint64_t notice) override;

 private:
  Status map(std::span<const std::byte> body);
  Status load(std::span<const std::byte> body);
  Status load(ModuleId id, const ModuleSource& source, std::span<std::byte> answer);
  Status launch(std::span<const std::byte> body);
  Status launches(std::size_t lane, std::span<const std::byte> body);
  Result<BoundArgument> bind(const wire::Launch& launch, std::size_t index,
                             const KernelArgument& argument) const;

  const std::shared_ptr<const KernelRunner> runner_;
  const Config config_;
  HostQueue queue_{"kernels"};
  std::unordered_map<std::uint64_t, std::shared_ptr<HostSegment>> segments_;
  std::unordered_map<ModuleId, std::unique_ptr<KernelProgram>> modules_;
};

}  // namespace ob::cpu
