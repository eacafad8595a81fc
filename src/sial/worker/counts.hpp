#pragma once
// The counters of a worker, for the report of a run.   docs/sial/runtime.md, "Report"

#include <cstdint>
#include <vector>

#include "sial/devices/device_copies.hpp"

namespace ob::sial {

/// Counters of one `get` statement.
struct GetCounts {
  std::uint64_t requests = 0;     ///< blocks that were asked for when the statement ran
  std::uint64_t ahead = 0;        ///< blocks that the look-ahead asked for
  std::uint64_t late = 0;         ///< of these, awaited when they were needed
  std::uint64_t unused = 0;       ///< of these, dropped before they were needed
  std::uint64_t evicted = 0;      ///< blocks dropped because memory was short
  std::uint64_t accesses = 0;     ///< operands read
  std::uint64_t waits = 0;        ///< of these, operands that had to be awaited
  std::uint64_t first_uses = 0;   ///< operands read for the first time since they arrived
  std::uint64_t first_waits = 0;  ///< of these, awaited
  std::uint64_t bytes = 0;        ///< received
  std::uint64_t depth = 0;        ///< blocks that the look-ahead is to be ahead, at the end
  std::int64_t demand_ns = 0;     ///< waited for blocks that were asked for on demand
  std::int64_t late_ns = 0;       ///< waited for blocks that were fetched ahead
  std::int64_t first_ns = 0;      ///< of all this, waited for the first block
};

/// Counters of one instruction. Only kept if the run is reported.
struct InstructionCounts {
  std::uint64_t count = 0;
  std::int64_t ns = 0;          ///< executing
  std::int64_t wait_ns = 0;     ///< waiting for messages
  std::uint64_t on_device = 0;  ///< executions on the device
};

/// The most memory of one worker.
struct MemoryPeaks {
  std::uint64_t block_bytes = 0;    ///< statics, temps and locals
  std::uint64_t fetched_bytes = 0;  ///< blocks of distributed arrays
  std::uint64_t put_bytes = 0;      ///< blocks that were put and not yet answered
};

struct WorkerCounts {
  std::vector<GetCounts> gets;                  ///< per access of the program
  std::vector<InstructionCounts> instructions;  ///< empty, or per instruction
  std::vector<MemoryPeaks> memory;              ///< empty, or per worker
  std::int64_t run_ns = 0;                      ///< from the start to the last barrier
  std::uint64_t credit_waits = 0;               ///< puts that had to wait for earlier ones
  DeviceTraffic device{};                       ///< of the process, until its worker ended
};

/// Returns all counters, so that workers can add theirs up.
std::vector<double> to_numbers(const WorkerCounts& counts);
/// Sets counters that have the right sizes.
void from_numbers(const std::vector<double>& numbers, WorkerCounts& counts) noexcept;

}  // namespace ob::sial
