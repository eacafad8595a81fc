#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "transport/ucx/arrivals.hpp"
#include "transport/ucx/departures.hpp"
#include "transport/ucx/hello.hpp"
#include "transport/ucx/worker.hpp"

namespace ob::transport::ucx {

/// Two streams of bytes over one worker, each held back when its receiver does not consume.
/// Messages without this connection's token are thrown away: anybody who reaches UCX's port can
/// send some.
/// Threads: one at a time, but memory that departures() and arrivals() gave may be used meanwhile
class Channel final : private MessageSink {
 public:
  /// Errors: those of Worker::create
  static Result<std::unique_ptr<Channel>> create(bool this_machine_only);
  ~Channel() override;

  /// What the peer needs to know of us.
  const Hello& hello() const noexcept { return hello_; }
  /// Errors: unavailable
  Status connect(const Hello& peer);
  bool connected() const noexcept { return worker_->connected(); }
  /// True if the channel may be destroyed; otherwise it has to be leaked, see ~Worker().
  bool may_end() const noexcept {
    return !connected() || failure_ != nullptr || (worker_->set_up() && heard_);
  }

  Departures& departures() noexcept { return departures_; }
  Arrivals& arrivals() noexcept { return arrivals_; }
  /// Sends the first size_bytes of what departures().reserve() gave.   @pre connected()
  void send(std::size_t size_bytes);
  /// size_bytes of arrivals().readable() were taken.
  void consume(std::size_t size_bytes);

  /// Moves everything on.   @pre connected()
  void progress();
  /// True if descriptor() becomes readable with the next event.
  bool arm() noexcept { return worker_->arm(); }
  int descriptor() const noexcept { return worker_->descriptor(); }

  /// Why nothing more comes or goes; nullptr while it does.
  const char* failure() const noexcept { return failure_; }
  /// True if that is the peer's breach of the protocol.
  bool corrupt() const noexcept { return corrupt_; }

 private:
  Channel() = default;
  void arrived(MessageKind kind, std::span<const std::byte> header,
               std::span<const std::byte> data) override;
  bool announced(std::span<const std::byte> header, Announced data) override;
  Arrivals::Piece* expect(std::span<const std::byte> header, std::size_t size_bytes);
  void take_credit(std::span<const std::byte> header);
  void fetch_announced();
  void give_credit();
  void send_credit();
  void fail(const char* why) noexcept { failure_ = failure_ != nullptr ? failure_ : why; }
  void breach() noexcept;

  struct Fetch {
    Announced from;
    Arrivals::Piece* into;
  };

  Departures departures_;
  Arrivals arrivals_;
  std::vector<Fetch> fetches_;  // announced, not asked for yet
  Hello hello_;
  Token peer_token_{};
  CreditHeader credit_{};
  Operation crediting_{true, false};
  const char* failure_ = nullptr;
  bool corrupt_ = false;
  bool heard_ = false;  // the peer: it is set up, too
  // Destroyed first: until then UCX uses the above.
  std::unique_ptr<Worker> worker_;
};

}  // namespace ob::transport::ucx
