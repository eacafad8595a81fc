#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "transport/ucx/hello.hpp"
#include "transport/ucx/receive_ring.hpp"
#include "transport/ucx/send_ring.hpp"
#include "transport/ucx/worker.hpp"

namespace ob::transport::ucx {

/// Two byte streams over one worker. Each stops while its receiver does not consume. Messages
/// without the token of this connection are discarded, because anybody who reaches UCX's port can
/// send messages.
/// Threads: one at a time, but memory from send_ring() and receive_ring() may be used meanwhile
class Channel final : private MessageSink {
 public:
  /// Errors: those of Worker::create
  static Result<std::unique_ptr<Channel>> create(bool this_machine_only);
  ~Channel() override;

  /// Returns the hello that the peer needs.
  const Hello& hello() const noexcept { return hello_; }
  /// Errors: unavailable
  Status connect(const Hello& peer);
  bool connected() const noexcept { return worker_->connected(); }
  /// True if the channel may be destroyed; otherwise it must be leaked, see ~Worker().
  bool may_end() const noexcept {
    return !connected() || failure_ != nullptr || (worker_->set_up() && heard_);
  }

  SendRing& send_ring() noexcept { return send_ring_; }
  ReceiveRing& receive_ring() noexcept { return receive_ring_; }
  /// Sends the first size_bytes of the space from send_ring().reserve().
  /// @pre connected()
  void send(std::size_t size_bytes);
  /// Releases the first size_bytes of receive_ring().readable().
  void consume(std::size_t size_bytes);

  /// Lets UCX make progress in both directions.
  /// @pre connected()
  void progress();
  /// True if descriptor() becomes readable with the next event.
  bool arm() noexcept { return worker_->arm(); }
  int descriptor() const noexcept { return worker_->descriptor(); }

  /// Returns the reason why the streams have ended; nullptr while they work.
  const char* failure() const noexcept { return failure_; }
  /// True if the reason is a breach of the protocol by the peer.
  bool corrupt() const noexcept { return corrupt_; }

 private:
  Channel() = default;
  void arrived(MessageKind kind, std::span<const std::byte> header,
               std::span<const std::byte> data) override;
  bool announced(std::span<const std::byte> header, Announced data) override;
  ReceiveRing::Piece* expect(std::span<const std::byte> header, std::size_t size_bytes);
  void take_credit(std::span<const std::byte> header);
  void fetch_announced();
  void give_credit();
  void send_credit();
  void fail(const char* why) noexcept { failure_ = failure_ != nullptr ? failure_ : why; }
  void breach() noexcept;

  struct Fetch {
    Announced from;
    ReceiveRing::Piece* into;
  };

  SendRing send_ring_;
  ReceiveRing receive_ring_;
  std::vector<Fetch> fetches_;  // announced, but not requested yet
  Hello hello_;
  Token peer_token_{};
  CreditHeader credit_{};
  Operation crediting_{true, false};
  const char* failure_ = nullptr;
  bool corrupt_ = false;
  bool heard_ = false;  // the peer has reported that it is set up
  // The worker is destroyed first, because UCX uses the members above.
  std::unique_ptr<Worker> worker_;
};

}  // namespace ob::transport::ucx
