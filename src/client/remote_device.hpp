#pragma once
// A device behind a connection. Over TCP element data travels in write and data messages; on the
// same machine the daemon's buffers are mapped and the caller's data is copied once, straight into
// and out of them.

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

/// Threads: one at a time (a connection is acquired whole). Blocking calls wait for the daemon as
/// long as Timeouts says; after connection_lost, protocol_error or deadline_exceeded the device is
/// broken for good.
class RemoteDevice final : public Device {
 public:
  static Result<std::unique_ptr<RemoteDevice>> open(const std::string& address,
                                                    const ConnectionConfig& config = {});
  ~RemoteDevice() override;

  /// True once an error made the connection useless.
  bool broken() const noexcept { return link_.broken(); }
  /// Makes the connection useless: for callers that cannot say which commands are still running.
  void abandon() noexcept { link_.abandon(); }
  Connection& connection() noexcept { return link_.connection(); }

  const DeviceInfo& info() const noexcept override { return info_; }
  /// The account is ignored: the daemon knows whose work it is.
  Result<QueueId> create_queue(const Account& account = {}) override;
  Status destroy_queue(QueueId queue) override;
  Status set_accuracy(QueueId queue, Accuracy accuracy) override;
  Result<BufferId> allocate(std::uint64_t size_bytes) override;
  Status free(BufferId buffer) override;
  std::byte* host_view(BufferId buffer) noexcept override;
  Result<SegmentView> segment(BufferId buffer) override;
  Status write(QueueId queue, BufferId buffer, const Region& region, const Layout& source) override;
  Status read(QueueId queue, BufferId buffer, const Region& region,
              const Layout& destination) override;
  Status copy(QueueId queue, BufferId source, const Region& from, BufferId destination,
              const Region& to) override;
  Peering* peering() noexcept override { return &peers_; }
  Status digest(QueueId queue, BufferId buffer, const Region& region, std::uint64_t chunk_bytes,
                std::span<Digest> digests) override;
  Status call(QueueId queue, const Descriptor& routine, const Argument* arguments) override;
  Result<PlanId> make_plan(const FftPlan& plan) override;
  Status destroy_plan(PlanId plan) override;
  Status execute(QueueId queue, PlanId plan, BufferRef input, BufferRef output) override;
  Result<EventId> create_event() override;
  Status destroy_event(EventId event) override;
  Status record(QueueId queue, EventId event) override;
  Status wait(QueueId queue, EventId event) override;
  QueueReport synchronize(QueueId queue) override;
  /// Answers are taken when the thread waits, so this waits too.
  Status on_reached(QueueId queue, bool clear,
                    std::function<void(const QueueReport&)> done) override;

  /// Sends the commands that are buffered, so that the daemon begins with them.
  Status flush() { return link_.flush(); }
  /// make_plan(), remembering the plans of this connection (bounded: the least recently used plan
  /// is destroyed).
  Result<PlanId> plan_for(const FftPlan& plan) { return plans_.remembered(plan); }
  /// Forgets and destroys remembered plans, after one of them failed.
  Status drop_cached_plans() { return plans_.drop_remembered(); }
  /// True if freed buffers still take the device's memory.
  bool has_cached_buffers() const noexcept { return buffers_.has_cached(); }
  /// Bytes of the device's memory that the daemon wants this session to hold between calls at most,
  /// as it said last: half of it is for freed buffers and plans, the other for the user's copies.
  /// The daemon does not enforce it, but a session that holds more is the first to be closed when
  /// memory is short.
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
