#pragma once
// A daemon that answers every command at once, with zeros, and records its answers. Inputs for
// clients are made from the records.

#include "fuzz/framing.hpp"
#include "transport/stream.hpp"

namespace ob::fuzz {

/// Memory: `said` outlives the daemon
class ScriptedDaemon final : public transport::Stream {
 public:
  /// @param shares_memory true: it answers locate with a location and a segment; else it refuses
  ScriptedDaemon(Bytes& said, bool shares_memory) : said_(said), shares_memory_(shares_memory) {}

  Result<std::size_t> try_send(std::span<const iovec> parts) override;
  Result<std::size_t> try_receive(std::span<const iovec> parts) override;
  Status wait(bool want_receive, bool want_send, transport::Deadline deadline) override;
  bool shares_memory() const noexcept override { return shares_memory_; }
  Status send_segment(int fd) override;
  Result<transport::Segment> receive_segment(transport::Deadline deadline) override;
  void shut_down() noexcept override {}
  std::string peer() const override { return "a scripted daemon"; }
  bool intact() const noexcept override { return true; }
  int descriptor() const noexcept override { return -1; }

 private:
  void answer(const RawMessage& asked);
  template <class Message>
  void say(wire::Opcode opcode, const wire::Header& to, const Message& message,
           std::size_t payload_bytes = 0);

  Bytes& said_;
  const bool shares_memory_;
  Bytes heard_;
  std::size_t told_ = 0;  // bytes of said_ that the client has received
};

}  // namespace ob::fuzz
