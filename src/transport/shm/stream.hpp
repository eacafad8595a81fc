#pragma once

#include <sys/types.h>

#include <atomic>

#include "base/fd.hpp"
#include "transport/detail/identity.hpp"
#include "transport/detail/spin.hpp"
#include "transport/shm/hang_up_watch.hpp"
#include "transport/shm/mapping.hpp"
#include "transport/shm/ring.hpp"
#include "transport/stream.hpp"

namespace ob::transport::shm {

/// Maps a connection's memory.   @param fd a sealed file of kMemoryBytes
/// Errors: out_of_memory
Result<Mapping> map_memory(int fd);

/// A connection through shared memory. After fork the child may destroy or leak its copy, and the
/// parent's connection continues. The descriptor also polls readable while a segment waits to be
/// received.
class ShmStream final : public Stream {
 public:
  /// @param watch tells the stream of the peer's end; nullptr: the stream looks for it by itself,
  /// every 50 ms of a wait
  ShmStream(Fd socket, Mapping mapping, Side side, const std::string& address, uid_t peer_uid,
            std::shared_ptr<HangUpWatch> watch = nullptr);
  ~ShmStream() override;

  Result<std::size_t> try_send(std::span<const iovec> parts) override;
  Result<std::size_t> try_receive(std::span<const iovec> parts) override;
  Status wait(bool want_receive, bool want_send, Deadline deadline) override;
  bool shares_memory() const noexcept override { return true; }
  Status send_segment(int fd) override;
  Result<Segment> receive_segment(Deadline deadline) override;
  void shut_down() noexcept override;
  std::string peer() const override { return peer_; }
  std::string user() const override { return user_; }
  bool intact() const noexcept override { return identity_.is(socket_.get()); }
  bool has_unread() const noexcept override;
  bool peer_is_gone() const noexcept override;
  bool was_closed_by_peer() const noexcept override;
  int descriptor() const noexcept override { return socket_.get(); }

 private:
  bool ready(bool want_receive, bool want_send) const noexcept;
  bool ended() const noexcept;
  bool has_hung_up() const noexcept;
  void look_for_hang_up() noexcept;
  Status lost() const;
  Status corrupt();

  Fd socket_;
  const detail::Identity identity_;
  const Mapping mapping_;
  const std::string user_;
  const std::string peer_;
  const pid_t owner_;
  BellWords& ours_;
  BellWords& theirs_;
  RingSender sender_;
  RingReceiver receiver_;
  std::atomic<bool> shut_down_{false};
  std::atomic<bool> hung_up_{false};
  unsigned empty_looks_ = 0;  // counted by the receiver
  detail::Spin spin_;
  const std::shared_ptr<HangUpWatch> watch_;
  std::uint64_t watched_as_ = 0;  // 0: not watched
};

}  // namespace ob::transport::shm
