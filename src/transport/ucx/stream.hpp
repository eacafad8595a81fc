#pragma once

#include <sys/types.h>

#include <atomic>
#include <mutex>
#include <optional>

#include "transport/detail/spin.hpp"
#include "transport/stream.hpp"
#include "transport/ucx/bell.hpp"
#include "transport/ucx/channel.hpp"
#include "transport/ucx/driver.hpp"

namespace ob::transport::ucx {

/// Bytes go through a channel of UCX; the control stream brings the peer's hello and farewell and
/// is how its death is noticed. After fork the child may destroy or leak its copy; the parent's
/// connection goes on.
class UcxStream final : public Stream {
 public:
  /// Says hello; the peer's hello is taken when it comes.
  /// Errors: those of Channel::create; connection_lost; out_of_memory
  static Result<std::unique_ptr<UcxStream>> create(std::unique_ptr<Stream> control);
  /// Sends what was accepted, for a moment; then says farewell.
  ~UcxStream() override;

  /// Waits for the peer's hello.   Errors: unavailable if none comes; those of HelloReceiver::poll
  Status await_hello(Deadline deadline);

  Result<std::size_t> try_send(std::span<const iovec> parts) override;
  Result<std::size_t> try_receive(std::span<const iovec> parts) override;
  Status wait(bool want_receive, bool want_send, Deadline deadline) override;
  bool shares_memory() const noexcept override { return false; }
  Status send_segment(int fd) override;
  Result<Segment> receive_segment(Deadline deadline) override;
  void shut_down() noexcept override;
  std::string peer() const override { return "ucx:" + control_->peer(); }
  std::string user() const override { return control_->user(); }
  bool from_daemon() const override { return control_->from_daemon(); }
  bool intact() const noexcept override { return control_->intact(); }
  int descriptor() const noexcept override { return control_->descriptor(); }

 private:
  using Lock = std::unique_lock<std::mutex>;
  /// What a waiter of a direction sleeps on.
  struct Sleepers {
    Bell bell;
    int count = 0;
  };
  struct Wants {
    bool receive;
    bool send;
  };

  UcxStream(std::unique_ptr<Stream> control, std::unique_ptr<Channel> channel);
  Status turn();
  void move_on();
  Status listen_to_control();
  Status greet();
  Status take_hello();
  void take_farewell();
  void end(std::string why);
  bool drained() const noexcept;
  bool can_receive() const noexcept;
  bool can_send() const noexcept;
  bool ready(Wants wants);
  Status sleep(Lock& lock, Wants wants, Deadline deadline);
  void wake_others();
  Status wait_awake(Lock& lock, Wants wants, Deadline deadline);
  Driver::Next drive();
  void flush() noexcept;
  void settle() noexcept;
  template <class Wanted>
  void pump(Wanted wanted) noexcept;
  void say_farewell() noexcept;
  Status lost() const;

  const std::unique_ptr<Stream> control_;
  const pid_t owner_;
  std::atomic<bool> shut_down_{false};
  detail::Spin spin_;

  std::mutex mutex_;  // holds for the rest
  std::unique_ptr<Channel> channel_;
  HelloSender greeting_;
  HelloReceiver hello_;
  Status refused_;  // the peer, or its hello
  Farewell farewell_{};
  std::size_t farewell_bytes_ = 0;
  // Why the peer is gone; what it sent before may still come.
  std::optional<std::string> ended_;
  Deadline last_bytes_until_;
  unsigned empty_looks_ = 0;
  unsigned turns_ = 0;
  unsigned turns_seen_ = 0;  // by the driver
  bool driver_sleeps_ = false;
  int waiters_ = 0;
  Sleepers receivers_;
  Sleepers senders_;
  std::unique_ptr<Driver> driver_;
};

}  // namespace ob::transport::ucx
