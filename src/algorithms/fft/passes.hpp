#pragma once
// Many transforms of host arrays on a device that holds some of them at a time.

#include <array>
#include <cstdint>
#include <optional>

#include "algorithms/call_timings.hpp"
#include "algorithms/device_buffer.hpp"
#include "algorithms/fft/task.hpp"
#include "base/host_scratch.hpp"
#include "device/device.hpp"

namespace ob::algorithms {

/// Runs tasks in pieces, two at a time where memory allows: one travels while the other computes.
/// Memory:  the device's buffers never take more than budget_bytes
/// Threads: owner only      Cost: each task's data once over the link in each direction
class FftPasses {
 public:
  /// `queue` is used for every other piece, a queue of its own for the rest.
  FftPasses(Device& device, QueueId queue, const FftPlanner& planner, std::uint64_t budget_bytes,
            CallTimings& timings);
  /// Nothing is under way any more.
  ~FftPasses();
  FftPasses(const FftPasses&) = delete;
  FftPasses& operator=(const FftPasses&) = delete;

  /// The most that one transform may take.   Units: bytes
  std::uint64_t largest_bytes() const noexcept { return largest_bytes(budget_bytes_); }
  static std::uint64_t largest_bytes(std::uint64_t budget_bytes) noexcept;

  /// Results are home when this returns. Errors: those of the device; nothing lands any more then.
  /// @pre transform_bytes(task.plan) <= largest_bytes(); task.landed needs one batch axis
  Status run(const FftTask& task);

 private:
  // Consecutive transforms of a task: a range of one batch axis, all of those after it.
  struct Piece {
    FftTask task;
    std::uint64_t first = 0;  // of the axis that is cut
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
