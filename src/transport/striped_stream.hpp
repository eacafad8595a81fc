#pragma once
// One stream over several: where one of them is not all that the link could carry (long fat links,
// limits per flow, encryption that needs a core each).

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "transport/detail/spin.hpp"
#include "transport/stream.hpp"

namespace ob::transport {

/// Begins as the stream it is given, which costs a virtual call, and may become several: of each
/// direction the byte at position p, counted from stripe() on, then travels on stream
/// (p / block_bytes) % streams. So nothing is added to the bytes, and all of them land where they
/// belong. The end of one of the streams is the end of all.
class StripedStream final : public Stream {
 public:
  static constexpr std::size_t kMaxStreams = std::tuple_size_v<decltype(Descriptors::numbers)>;

  /// @pre first is not null
  explicit StripedStream(std::unique_ptr<Stream> first);

  /// Goes on over this stream and `others`, in that order; both ends do so at the same byte.
  /// Threads: while no other thread uses the stream, but for shut_down()
  /// @pre can_be_striped(), for all of them; streams() == 1; at most kMaxStreams in all;
  /// block_bytes > 0
  void stripe(std::vector<std::unique_ptr<Stream>> others, std::uint32_t block_bytes);
  /// Gives the stream away that this one began as; what is left can only be shut down.
  /// Threads: as stripe().   @pre streams() == 1
  std::unique_ptr<Stream> release();
  std::size_t streams() const noexcept { return parts_.size(); }

  Result<std::size_t> try_send(std::span<const iovec> parts) override;
  Result<std::size_t> try_receive(std::span<const iovec> parts) override;
  Status wait(bool want_receive, bool want_send, Deadline deadline) override;
  bool shares_memory() const noexcept override { return parts_.front()->shares_memory(); }
  Status send_segment(int fd) override { return parts_.front()->send_segment(fd); }
  Result<Segment> receive_segment(Deadline deadline) override {
    return parts_.front()->receive_segment(deadline);
  }
  void shut_down() noexcept override;
  std::string peer() const override;
  std::string user() const override;
  bool from_daemon() const override { return !parts_.empty() && parts_.front()->from_daemon(); }
  bool intact() const noexcept override;
  int descriptor() const noexcept override { return parts_.front()->descriptor(); }
  Descriptors descriptors() const noexcept override;
  bool can_be_striped() const noexcept override;

 private:
  using Position = std::atomic<std::uint64_t>;
  class Watch;

  Stream& stream_at(const Position& position) const noexcept;
  template <class Move>
  Result<std::size_t> move_blocks(std::span<const iovec> parts, Position& position, Move move);
  /// Returns once a wanted stream is ready, or has ended.
  Status wait_striped(Watch& watch, Deadline deadline);
  Status check_peers() const;
  Status lost(const char* why) const;

  std::vector<std::unique_ptr<Stream>> parts_;
  std::mutex mutex_;  // of parts_, between shut_down() and whoever changes them
  std::uint64_t block_bytes_ = 0;
  // Each is moved by one thread; the other one looks where to wait.
  Position sent_bytes_{0};
  Position received_bytes_{0};
  // When a stream was first seen to have ended while others were waited for; 0: none has.
  std::atomic<Clock::rep> ended_at_{0};
  std::atomic<bool> shut_down_{false};
  detail::Spin spin_{std::chrono::microseconds(50)};  // as TcpStream's
};

}  // namespace ob::transport
