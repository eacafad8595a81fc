#pragma once
// The work of a cpu device's executor process.

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/cpu/libraries.hpp"
#include "device/host_segment.hpp"
#include "device/memory_table.hpp"
#include "executor/service.hpp"

namespace ob::cpu {

/// Runs the calls and transforms of one client on segments that the daemon shares with it. It
/// checks them once more: nobody else looks at the elements.
class ExecutorService final : public executor::Service, private MemoryTable {
 public:
  struct Config {
    unsigned threads = 1;
    std::uint64_t memory_bytes = 0;  ///< limit of workspaces, plans and the libraries' own memory
  };
  explicit ExecutorService(const Config& config) : config_(config) {}

  Status start() override;
  Status handle(std::size_t lane, std::uint32_t kind, std::span<const std::byte> body) override;
  void take_notice(std::size_t lane, std::uint64_t notice) override;

 private:
  HeldMemory held(BufferId id) const override;
  Status map(std::span<const std::byte> body);
  Status call(std::span<const std::byte> body);
  Status plan(std::size_t lane, std::span<const std::byte> body);
  Status execute(std::span<const std::byte> body);
  void destroy_unused();

  const Config config_;
  std::shared_ptr<const Libraries> libraries_;
  std::unique_ptr<LocalRunner> runner_;
  std::unordered_map<std::uint64_t, std::shared_ptr<HostSegment>> segments_;  // of the call lane
  using Plans = std::unordered_map<std::uint64_t, std::shared_ptr<TransformPlan>>;
  std::mutex planning_;  // held while a lane makes or destroys plans
  std::mutex mutex_;     // guards all below
  Plans plans_;
  std::vector<Plans::node_type> unused_;  // not destroyed yet
};

}  // namespace ob::cpu
