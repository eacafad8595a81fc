#pragma once
// A stream whose peer is an input: it receives the input's bytes and checks the bytes it sends.

#include <atomic>
#include <random>

#include "fuzz/input.hpp"
#include "fuzz/message_checker.hpp"
#include "transport/stream.hpp"

namespace ob::fuzz {

/// Never blocks. Where a real stream would wait for more bytes than the input has, the peer has
/// closed the connection, or it is silent three times and then closes it.
/// Memory: the bytes and `checker` outlive the stream
class ByteStream final : public transport::Stream {
 public:
  ByteStream(const Delivery& delivery, View says, MessageChecker& checker);

  Result<std::size_t> try_send(std::span<const iovec> parts) override;
  Result<std::size_t> try_receive(std::span<const iovec> parts) override;
  Status wait(bool want_receive, bool want_send, transport::Deadline deadline) override;
  bool shares_memory() const noexcept override { return (delivery_.flags & kSharesMemory) != 0; }
  Status send_segment(int fd) override;
  Result<transport::Segment> receive_segment(transport::Deadline deadline) override;
  void shut_down() noexcept override { over_ = true; }
  std::string peer() const override { return "an input"; }
  bool intact() const noexcept override { return true; }
  int descriptor() const noexcept override { return -1; }

 private:
  Status lost() const;

  const Delivery delivery_;
  View says_;  // used by the receiver only
  std::minstd_rand pieces_;
  bool dry_ = false;
  int silences_left_ = 3;
  MessageChecker& checker_;  // used by the sender only
  std::minstd_rand sends_;
  bool full_ = false;
  std::size_t takes_ = SIZE_MAX;
  std::atomic<bool> over_{false};
};

}  // namespace ob::fuzz
