#pragma once
// Runs a call in parts. The device computes while operands and results are transferred.

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

/// Writes and calls share one queue. Results are read on a second queue, so that calls do not wait
/// for the transfer of results.
/// Threads: owner only
/// Memory: the memory that results are written to must outlive the pipeline if run() throws
class Pipeline {
 public:
  /// An operand, or a block of one, on the device.
  struct Part {
    BufferId buffer;
    std::optional<DeviceBuffer> own;  // used for this call only
  };

  explicit Pipeline(const CallContext& context);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// Runs `submit`, which places, calls and fetches. After all of these have completed without
  /// error, `commit` does the remaining work on the host; if the call is a part of another one, the
  /// owner of the parts may run it later.
  /// Errors: out_of_memory before any transfer if the device has less than needed_bytes; those of
  /// `submit` and the device. After an error no command is pending
  Status run(double needed_bytes, const std::function<Status()>& submit,
             const std::function<void()>& commit);

  /// Brings an operand to the device, or only allocates its memory if it is not read. With a
  /// Residency the operand stays on the device after the call.
  Status place(const PlacedOperand& operand, Part& part);
  /// Sends an operand to an allocated buffer, after all earlier commands that use the buffer.
  Status send(const PlacedOperand& operand, BufferId buffer);
  /// Allocates device memory for this call only.
  Status allocate(std::uint64_t size_bytes, Part& part);
  Status call(const Descriptor& routine, const Argument* arguments);
  /// Reads the results of the calls submitted so far.
  Status fetch(BufferId buffer, const Region& region, const Layout& landing);
  /// Makes later calls wait for all fetches so far, so that they may overwrite the fetched memory.
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
  EventId fetched_;  // created on first use
  std::optional<Residency::Call> resident_;
};

}  // namespace ob::algorithms
