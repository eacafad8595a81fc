#pragma once
// One stream over several. This helps where a single one cannot fill the link: long fast links, or
// limits per flow.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/use_counter.hpp"
#include "transport/detail/spin.hpp"
#include "transport/stream.hpp"

namespace ob::transport {

/// Begins as the given stream, at the cost of a virtual call, and may become several. In each
/// direction, the byte at position p, counted from stripe() on, then travels on stream
/// (p / block_bytes) % streams. So no headers are needed, and all bytes arrive at their places. The
/// end of one of the streams is the end of all.
class StripedStream final : public Stream {
 public:
  static constexpr std::size_t kMaxStreams = std::tuple_size_v<decltype(Descriptors::numbers)>;

  /// @pre first != nullptr
  explicit StripedStream(std::unique_ptr<Stream> first);

  /// Continues over this stream and `others`, in that order. Both ends must do so at the same byte.
  /// Threads: no other thread may use the stream meanwhile, except for shut_down()
  /// @pre streams() == 1 && block_bytes > 0 && others.size() < kMaxStreams
  /// @pre can_be_striped() for all of them
  void stripe(std::vector<std::unique_ptr<Stream>> others, std::uint32_t block_bytes);
  /// Releases the first stream; afterwards this object can only be shut down.   Threads: as
  /// stripe()
  /// @pre streams() == 1
  std::unique_ptr<Stream> release();
  std::size_t streams() const noexcept { return parts_.size(); }
  /// Counts the bytes from now on, of any number of streams, for this counter, too.
  /// Threads: as stripe()
  void count_in(std::shared_ptr<UseCounter> counter) { counters_.push_back(std::move(counter)); }

  Result<std::size_t> try_send(std::span<const iovec> parts) override;
  Result<std::size_t> try_receive(std::span<const iovec> parts) override;
  Status wait(bool want_receive, bool want_send, Deadline deadline) override;
  bool shares_memory() const noexcept override { return parts_.front()->shares_memory(); }
  Status send_segment(int fd) override { return parts_.front()->send_segment(fd); }
  Result<Segment> receive_segment(Deadline deadline) override {
    return parts_.front()->receive_segment(deadline);
  }
  void shut_down() noexcept override;
  void discard_unsent_at_end() noexcept override;
  std::string peer() const override;
  std::string user() const override;
  std::string kernel_rights() const override {
    return parts_.empty() ? std::string() : parts_.front()->kernel_rights();
  }
  bool from_daemon() const override { return !parts_.empty() && parts_.front()->from_daemon(); }
  bool revoked() const override;
  bool intact() const noexcept override;
  int descriptor() const noexcept override { return parts_.front()->descriptor(); }
  Descriptors descriptors() const noexcept override;
  bool has_unread() const noexcept override;
  bool peer_is_gone() const noexcept override;
  bool was_closed_by_peer() const noexcept override;
  bool can_be_striped() const noexcept override;

 private:
  using Position = std::atomic<std::uint64_t>;
  class Watch;

  Result<std::size_t> send_some(std::span<const iovec> parts);
  Result<std::size_t> receive_some(std::span<const iovec> parts);
  Stream& stream_at(const Position& position) const noexcept;
  template <class Move>
  Result<std::size_t> move_blocks(std::span<const iovec> parts, Position& position, Move move);
  /// Waits until a wanted stream is ready or has ended.
  Status wait_striped(Watch& watch, Deadline deadline);
  Status check_peers() const;
  Status lost(const char* why) const;

  std::vector<std::unique_ptr<Stream>> parts_;
  std::vector<std::shared_ptr<UseCounter>> counters_;
  mutable std::mutex
      mutex_;  // guards parts_ between functions for any thread and those that change them
  std::uint64_t block_bytes_ = 0;
  // One thread moves each position; the other one reads it to find the stream to wait for.
  Position sent_bytes_{0};
  Position received_bytes_{0};
  // The time at which a stream was first found ended while others were waited for; 0: none.
  std::atomic<Clock::rep> ended_at_{0};
  std::atomic<bool> shut_down_{false};
  detail::Spin spin_{std::chrono::microseconds(50)};  // as in TcpStream
};

}  // namespace ob::transport
