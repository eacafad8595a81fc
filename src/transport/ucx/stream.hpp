#pragma once

#include <poll.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <mutex>
#include <optional>

#include "transport/detail/spin.hpp"
#include "transport/stream.hpp"
#include "transport/ucx/bell.hpp"
#include "transport/ucx/channel.hpp"
#include "transport/ucx/driver.hpp"

namespace ob::transport::ucx {

/// Bytes travel through a channel of UCX. The control stream carries the hello and the close
/// notice, and detects the death of the peer. After fork the child may destroy or leak its copy,
/// and the parent's connection continues.
class UcxStream final : public Stream {
 public:
  /// Sends the hello; the peer's hello is received later.
  /// Errors: those of Channel::create; connection_lost; out_of_memory
  static Result<std::unique_ptr<UcxStream>> create(std::unique_ptr<Stream> control);
  /// Sends accepted bytes, for a limited time, and then the close notice.
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
  std::string kernel_rights() const override { return control_->kernel_rights(); }
  bool from_daemon() const override { return control_->from_daemon(); }
  bool revoked() const override { return control_->revoked(); }
  bool intact() const noexcept override { return control_->intact(); }
  bool peer_is_gone() const noexcept override { return control_->peer_is_gone(); }
  bool was_closed_by_peer() const noexcept override { return control_->was_closed_by_peer(); }
  int descriptor() const noexcept override { return control_->descriptor(); }

 private:
  using Lock = std::unique_lock<std::mutex>;
  /// The bell that threads waiting for a direction sleep on.
  struct Sleepers {
    Bell bell;
    int count = 0;
  };
  struct Wants {
    bool receive;
    bool send;
  };
  struct PollSet {
    std::array<pollfd, 4> all{};
    std::size_t count = 0;
  };

  UcxStream(std::unique_ptr<Stream> control, std::unique_ptr<Channel> channel);
  Status turn();
  void move_on();
  Status listen_to_control();
  Status greet();
  Status take_hello();
  void receive_close_notice();
  void end(std::string why);
  bool drained() const noexcept;
  bool can_receive() const noexcept;
  bool can_send() const noexcept;
  bool ready(Wants wants);
  Status sleep(Lock& lock, Wants wants, Deadline deadline);
  PollSet descriptors_for(Wants wants, bool setting_up) const noexcept;
  void count_sleepers(Wants wants, int change) noexcept;
  void wake_others();
  Status wait_awake(Lock& lock, Wants wants, Deadline deadline);
  Driver::Next drive();
  void flush() noexcept;
  void settle() noexcept;
  template <class Wanted>
  void pump(Wanted wanted) noexcept;
  void send_close_notice() noexcept;
  Status lost() const;

  const std::unique_ptr<Stream> control_;
  const pid_t owner_;
  std::atomic<bool> shut_down_{false};
  detail::Spin spin_;

  std::mutex mutex_;  // guards all below
  std::unique_ptr<Channel> channel_;
  HelloSender greeting_;
  HelloReceiver hello_;
  Status refused_;  // not ok if the peer or its hello was refused
  CloseNotice close_notice_{};
  std::size_t close_notice_bytes_ = 0;
  // The reason why the peer is gone; bytes that it sent before may still arrive.
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
