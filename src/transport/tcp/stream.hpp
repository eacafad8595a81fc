#pragma once

#include <sys/types.h>

#include <atomic>

#include "base/fd.hpp"
#include "transport/detail/identity.hpp"
#include "transport/detail/spin.hpp"
#include "transport/stream.hpp"
#include "transport/tcp/liveness.hpp"

namespace ob::transport::tcp {

/// A TCP connection, or one over a Unix socket of type SOCK_STREAM. After fork the child may
/// destroy or leak its copy, and the parent's connection continues.
class TcpStream final : public Stream {
 public:
  /// @param fd a connected non-blocking socket
  /// @param longest_silence of the peer's machine, while it should acknowledge bytes
  /// @param peer its name for messages
  TcpStream(Fd fd, std::chrono::milliseconds longest_silence, std::string peer);
  ~TcpStream() override;

  Result<std::size_t> try_send(std::span<const iovec> parts) override;
  Result<std::size_t> try_receive(std::span<const iovec> parts) override;
  Status wait(bool want_receive, bool want_send, Deadline deadline) override;
  bool shares_memory() const noexcept override { return false; }
  Status send_segment(int fd) override;
  Result<Segment> receive_segment(Deadline deadline) override;
  void shut_down() noexcept override;
  void discard_unsent_at_end() noexcept override;
  std::string peer() const override { return peer_; }
  bool intact() const noexcept override { return identity_.is(fd_.get()); }
  int descriptor() const noexcept override { return fd_.get(); }
  bool has_unread() const noexcept override;
  bool peer_is_gone() const noexcept override;
  bool was_closed_by_peer() const noexcept override { return was_closed_by_peer_; }
  bool can_be_striped() const noexcept override { return true; }

 private:
  Status failure(int error) const;
  Status lost(const char* why) const;

  Fd fd_;
  const detail::Identity identity_;
  const std::string peer_;
  const pid_t owner_;
  std::atomic<bool> shut_down_{false};
  bool was_closed_by_peer_ = false;
  const PeerSilence silence_;
  // A wake-up of an idle core of a virtual machine takes 20 to 45 us (measured), twice in a round
  // trip; polling for about as long keeps small round trips at 7 us. On a busy machine both ends
  // share a core, polling does not pay, and Spin stops it.
  detail::Spin spin_{std::chrono::microseconds(50)};
};

}  // namespace ob::transport::tcp
