#pragma once
// A device behind a connection. Over TCP, write and data messages carry the elements. On the same
// machine the daemon's buffers are mapped, and the caller's data is copied once, directly between
// them and the caller's memory.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "client/daemon_link.hpp"
#include "client/remote_buffers.hpp"
#include "client/remote_peers.hpp"
#include "client/remote_plans.hpp"
#include "client/remote_queues.hpp"
#include "device/device.hpp"

namespace ob::client {

/// Threads: one at a time (a caller acquires a whole connection). Blocking calls wait for the
/// daemon for the times in Timeouts. After connection_lost, protocol_error or deadline_exceeded the
/// device stays broken.
class RemoteDevice final : public Device {
 public:
  static Result<std::unique_ptr<RemoteDevice>> open(const std::string& address,
                                                    const ConnectionConfig& config = {});
  ~RemoteDevice() override;

  /// True once an error made the connection useless.
  bool broken() const noexcept { return link_.broken(); }
  /// Makes the connection useless, for callers that do not know which commands are still running.
  void abandon() noexcept { link_.abandon(); }
  Connection& connection() noexcept { return link_.connection(); }

  const DeviceInfo& info() const noexcept override { return info_; }
  /// Ignores the account: the daemon knows the client.
  Result<QueueId> create_queue(const Account& account = {}) override;
  Status destroy_queue(QueueId queue) override;
  Status set_accuracy(QueueId queue, Accuracy accuracy) override;
  Result<BufferId> allocate(std::uint64_t size_bytes, const Account& owner = {}) override;
  Status free(BufferId buffer) override;
  std::byte* host_view(BufferId buffer) noexcept override;
  Result<SegmentView> segment(BufferId buffer) override;
  Status write(QueueId queue, BufferId buffer, const Region& region, const Layout& source) override;
  Status read(QueueId queue, BufferId buffer, const Region& region,
              const Layout& destination) override;
  Status copy(QueueId queue, BufferId source, const Region& from, BufferId destination,
              const Region& to) override;
  Status fill(QueueId queue, BufferId buffer, const Region& region,
              std::span<const std::byte> element) override;
  Peering* peering() noexcept override { return &peers_; }
  Status digest(QueueId queue, BufferId buffer, const Region& region, std::uint64_t chunk_bytes,
                std::span<Digest> digests) override;
  Status call(QueueId queue, const Descriptor& routine, const Argument* arguments) override;
  Result<PlanId> make_plan(const FftPlan& plan, const Account& account = {}) override;
  Status destroy_plan(PlanId plan) override;
  Status execute(QueueId queue, PlanId plan, BufferRef input, BufferRef output) override;
  Result<EventId> create_event() override;
  Status destroy_event(EventId event) override;
  Status record(QueueId queue, EventId event) override;
  Status wait(QueueId queue, EventId event) override;
  QueueReport synchronize(QueueId queue) override;
  /// Waits for the queue: answers are received only while the thread waits.
  Status on_reached(QueueId queue, bool clear,
                    std::function<void(const QueueReport&)> done) override;

  /// Waits for the queue, as on_reached().
  Status mark(QueueId queue, std::function<void(const QueueMark&)> done) override;

  /// Sends the buffered commands, so that the daemon starts them.
  Status flush() { return link_.flush(); }
  /// Makes a plan, or returns one that this connection remembers. There is a limit: the least
  /// recently used plan is destroyed.
  Result<PlanId> plan_for(const FftPlan& plan) { return plans_.remembered(plan); }
  /// Destroys all remembered plans after one of them failed.
  Status drop_cached_plans() { return plans_.drop_remembered(); }
  /// True if freed buffers still take the device's memory.
  bool has_cached_buffers() const noexcept { return buffers_.has_cached(); }
  /// Returns the daemon's latest limit for the device memory that this session should hold between
  /// calls [bytes]. Half of it is for freed buffers and plans, the other half for the user's
  /// copies. The daemon does not enforce it, but closes a session that holds more first when memory
  /// is short.
  std::uint64_t keep_bytes() const noexcept { return link_.keep_bytes(); }
  /// Frees cached buffers on the daemon (after it ran out of memory).
  Status drop_cached_buffers() { return buffers_.drop_cached(); }

 private:
  explicit RemoteDevice(std::unique_ptr<Connection> connection);
  Status check_operands(const Descriptor& routine, const Argument* arguments);

  DaemonLink link_;
  DeviceInfo info_;
  RemoteQueues queues_;
  RemoteBuffers buffers_;
  RemotePlans plans_;
  RemotePeers peers_;
};

}  // namespace ob::client
