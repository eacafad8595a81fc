#pragma once
// Commands on the connection of a remote device, without the checks of the client.

#include "client/remote_device.hpp"
#include "support/hostile_session.hpp"

namespace ob::test {

/// Threads: one at a time
class RawWay final : public HostileWay {
 public:
  explicit RawWay(client::RemoteDevice& device) : device_(device) {}
  Status call(QueueId queue, const Descriptor& routine, const Argument* arguments) override;
  Status transform(QueueId queue, const FftPlan& plan, BufferRef input, BufferRef output) override;
  Result<BufferId> allocate(std::uint64_t size_bytes) override;
  Status free(BufferId buffer) override;
  Status wait(QueueId queue) override;

 private:
  template <class Message>
  Status command(wire::Opcode opcode, QueueId queue, const Message& message) {
    return device_.connection().command(opcode, queue, message).status();
  }

  client::RemoteDevice& device_;
  std::uint64_t last_id_ = std::uint64_t{1} << 41;  // above the ids of the remote device
};

}  // namespace ob::test
