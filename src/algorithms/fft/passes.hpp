#pragma once
// Runs many transforms of host arrays on a device that holds only some of them at a time.

#include <array>
#include <cstdint>
#include <optional>

#include "algorithms/call_timings.hpp"
#include "algorithms/device_buffer.hpp"
#include "algorithms/fft/task.hpp"
#include "base/host_scratch.hpp"
#include "device/device.hpp"

namespace ob::algorithms {

/// Runs tasks in pieces, two at a time if the memory allows it: one piece is transferred while the
/// other one computes.
/// Memory:  the device buffers never take more than budget_bytes
/// Threads: owner only      Cost: each task's data once over the link in each direction
class FftPasses {
 public:
  /// `queue` runs every other piece. The remaining pieces run on a queue that this object creates.
  FftPasses(Device& device, QueueId queue, const FftPlanner& planner, std::uint64_t budget_bytes,
            CallTimings& timings);
  /// Waits for all pending pieces.
  ~FftPasses();
  FftPasses(const FftPasses&) = delete;
  FftPasses& operator=(const FftPasses&) = delete;

  /// The largest size of one transform.   Units: bytes
  std::uint64_t largest_bytes() const noexcept { return largest_bytes(budget_bytes_); }
  static std::uint64_t largest_bytes(std::uint64_t budget_bytes) noexcept;

  /// Runs a task. The results are in host memory when this returns.
  /// Errors: those of the device; after an error no read is pending
  /// @pre transform_bytes(task.plan) <= largest_bytes(); task.landed needs one batch axis
  Status run(const FftTask& task);

 private:
  // Consecutive transforms of a task: a range of one batch axis and all of the axes after it.
  struct Piece {
    FftTask task;
    std::uint64_t first = 0;  // index on the axis that is cut
    std::uint64_t count = 0;
  };
  class Pieces;
  struct Slot {
    QueueId queue;
    std::optional<DeviceBuffer> buffer;
    std::uint64_t capacity_bytes = 0;
    std::optional<HostScratch> staging;
    std::uint64_t staging_bytes = 0;
    bool busy = false;
    bool staged_output = false;
    std::byte* view = nullptr;
    Piece piece;
  };

  Status run_all(const FftTask& task, std::uint64_t slot_bytes, std::size_t slots);
  Status reserve(Slot& slot, std::uint64_t size_bytes);
  Result<std::byte*> stage(Slot& slot, std::uint64_t size_bytes);
  Status start(Slot& slot, std::uint64_t slot_bytes);
  Status submit(Slot& slot, PlanId plan);
  Status finish(Slot& slot);

  Device& device_;
  QueueId own_queue_;
  const FftPlanner& planner_;
  std::uint64_t budget_bytes_;
  CallTimings& timings_;
  std::array<Slot, 2> slots_;
};

}  // namespace ob::algorithms
