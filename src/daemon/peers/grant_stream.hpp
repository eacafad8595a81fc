#pragma once
// A stream to another daemon, for the use of its grants.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/status.hpp"
#include "daemon/memory/device_buffer.hpp"
#include "daemon/memory/region_landing.hpp"
#include "daemon/peers/peer_transport.hpp"
#include "session/message_receiver.hpp"
#include "session/message_sender.hpp"
#include "transport/stream.hpp"

namespace ob::daemon {

/// Sends one store or fetch at a time, and receives its answer.
/// Threads: one at a time; interrupt() by any
class GrantStream final : private session::SendWaiter {
 public:
  /// @param stream its other side has answered `joined`
  explicit GrantStream(std::unique_ptr<transport::Stream> stream);

  /// Stores the region of a buffer in the range.
  /// Errors: those of the other daemon; connection_lost if it leaves or is silent for long
  Status store(SendResources& resources, const std::shared_ptr<DeviceBuffer>& buffer,
               const Region& region, const wire::GrantRange& range);
  /// Fetches the range to the region of a buffer.   Errors: as store()
  Status fetch(RegionLanding& landing, const DeviceBuffer& buffer, const Region& region,
               const wire::GrantRange& range);
  /// True if the other side is still there.
  bool alive();
  /// True after a command that the other side has not answered completely: the stream is useless.
  bool broken() const noexcept { return broken_; }
  /// Makes all commands fail.
  void interrupt() noexcept { stream_->shut_down(); }

 private:
  Status send_store(SendResources& resources, const std::shared_ptr<DeviceBuffer>& buffer,
                    const Region& region, const wire::GrantRange& range);
  Status send_header(wire::Opcode opcode, const wire::GrantRange& range,
                     std::uint64_t payload_bytes);
  Status wait_to_send() override;
  Status wait(bool want_send);
  Status receive();
  Result<wire::Outcome> await_answer(wire::Opcode opcode);
  Status receive_payload(const Layout& room);

  const std::unique_ptr<transport::Stream> stream_;
  session::MessageReceiver receiver_;
  session::MessageSender sender_;
  std::uint64_t sequence_ = 0;
  bool broken_ = false;
  transport::Deadline heard_{};
  wire::Opcode answer_opcode_ = wire::Opcode::none;
  std::uint64_t answer_bytes_ = 0;       // payload of the answer
  std::optional<wire::Outcome> answer_;  // of the present command
};

}  // namespace ob::daemon
