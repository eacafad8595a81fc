// Sends peer messages to another daemon.

#include <chrono>
#include <cstddef>
#include <utility>

#include "daemon/memory/staged_reader.hpp"
#include "daemon/peers/intervals.hpp"
#include "daemon/peers/peer_transport.hpp"
#include "session/message_sender.hpp"
#include "wire/codec.hpp"

namespace ob::daemon {
namespace {

class StreamTransport final : public PeerTransport, private session::SendWaiter {
 public:
  explicit StreamTransport(std::unique_ptr<transport::Stream> stream)
      : stream_(std::move(stream)), sender_(*stream_, *this) {}

  Status send(SendResources& resources, const PendingSend& message,
              const std::function<bool()>& cancelled) override {
    if (message.forwarded != nullptr) {
      OB_RETURN_IF_ERROR(send_forwarded(message, cancelled));
    } else if (std::byte* const memory = resources.device.host_view(message.buffer->local)) {
      OB_RETURN_IF_ERROR(send_header(message));
      OB_RETURN_IF_ERROR(sender_.append_payload(Layout::matrix(memory, message.region)));
    } else {
      OB_RETURN_IF_ERROR(resources.open_transfers());
      StagedReader reader(resources.device, resources.transfers, message.buffer, message.region);
      const auto begin = [&](const Status& had) { return had.ok() ? send_header(message) : had; };
      OB_RETURN_IF_ERROR(
          reader.run(begin, [&](const Layout& part) { return sender_.append_payload(part); }));
    }
    return sender_.flush();
  }

  // The other end sends nothing after `joined`.
  bool alive() override {
    std::byte byte{};
    const iovec part{&byte, 1};
    const auto received = stream_->try_receive({&part, 1});
    return received.ok() && *received == 0;
  }

  // A receiver that takes no bytes now does not need the goodbye.
  void close() override {
    closing_ = true;
    wire::Header header;
    header.opcode = wire::Opcode::goodbye;
    if (sender_.send(header, {}).ok()) (void)sender_.flush();
  }

  void abort() override { stream_->shut_down(); }
  void interrupt() noexcept override { stream_->shut_down(); }

 private:
  Status send_header(const PendingSend& message) {
    wire::Body body;
    wire::encode(wire::PeerMessage{message.peer_message, shape_of(message.region)}, body);
    wire::Header header;
    header.opcode = wire::Opcode::peer_message;
    header.payload_bytes = packed_bytes(message.region);
    return sender_.send(header, body.bytes());
  }

  Status send_forwarded(const PendingSend& message, const std::function<bool()>& cancelled) {
    OB_RETURN_IF_ERROR(send_header(message));
    for (std::uint64_t remaining = packed_bytes(message.region); remaining > 0;) {
      OB_ASSIGN_OR_RETURN(const auto part, message.forwarded->read(cancelled));
      OB_RETURN_IF_ERROR(
          sender_.append_payload(Layout::bytes(const_cast<std::byte*>(part.data()), part.size())));
      OB_RETURN_IF_ERROR(sender_.flush());
      message.forwarded->consume(part.size());
      remaining -= part.size();
    }
    return {};
  }

  // Waits until the link is interrupted or the other end has left: a receiver may be busy for long.
  Status wait_to_send() override {
    if (closing_) return {Code::unavailable, "the peer takes no bytes"};
    const Status status = stream_->wait(true, true, transport::Clock::now() + kLinkCheckInterval);
    if (!status.ok() && status.code() != Code::deadline_exceeded) return status;
    return alive() ? Status() : Status(Code::connection_lost, "the peer takes no more");
  }

  const std::unique_ptr<transport::Stream> stream_;
  session::MessageSender sender_;
  bool closing_ = false;
};

}  // namespace

std::unique_ptr<PeerTransport> make_stream_transport(std::unique_ptr<transport::Stream> stream) {
  return std::make_unique<StreamTransport>(std::move(stream));
}

}  // namespace ob::daemon
