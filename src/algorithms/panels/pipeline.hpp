#pragma once
// A call in parts, on a device that computes while operands and results travel.

#include <functional>
#include <optional>

#include "algorithms/call_context.hpp"
#include "algorithms/device_buffer.hpp"
#include "algorithms/residency/residency.hpp"
#include "algorithms/tiles/commit_gate.hpp"
#include "base/status.hpp"
#include "device/device.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::algorithms {

/// What is sent and computed shares a queue; results come back on another one, so that calls do not
/// wait for results to be on their way.   Threads: owner only
/// Memory: whatever results land in must outlive it, if run() throws
class Pipeline {
 public:
  /// An operand, or a block of one, on the device.
  struct Part {
    BufferId buffer;
    std::optional<DeviceBuffer> own;  // for this call only
  };

  explicit Pipeline(const CallContext& context);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// `submit` places, calls and fetches; when all of it is done without error, `commit` does what
  /// is left on this side, or the owner of the parts has it done later.
  /// Errors: out_of_memory before anything travels if the device has less than needed_bytes; those
  /// of `submit` and the device. After an error nothing is under way any more
  Status run(double needed_bytes, const std::function<Status()>& submit,
             const std::function<void()>& commit);

  /// Brings an operand to the device, or makes room for what is not read; it stays there where
  /// there is a Residency.
  Status place(const PlacedOperand& operand, Part& part);
  /// Brings an operand to a buffer that was allocated: once nothing uses it any more.
  Status send(const PlacedOperand& operand, BufferId buffer);
  /// Makes room for this call only.
  Status allocate(std::uint64_t size_bytes, Part& part);
  Status call(const Descriptor& routine, const Argument* arguments);
  /// Of what has been called for.
  Status fetch(BufferId buffer, const Region& region, const Layout& landing);
  /// Later calls may overwrite what has been fetched.
  Status hold_calls();

 private:
  Status submit_all(double needed_bytes, const std::function<Status()>& submit);
  Status abandon(const Status& failure);

  Device& device_;
  const QueueId queue_;
  CallTimings& timings_;
  Commits* const commits_;
  QueueId back_;
  EventId event_;
  EventId fetched_;  // made when it is needed
  std::optional<Residency::Call> resident_;
};

}  // namespace ob::algorithms
