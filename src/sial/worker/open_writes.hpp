#pragma once
// The writes of a worker that servers have not answered.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "sial/exchange/put_credit.hpp"

namespace ob::sial {

/// Writes of one worker that a server has not answered, with a block or without. More would fill
/// queues and save no time: the answers to the first ones are there before the last ones have left.
inline constexpr std::size_t kMostOpenWrites = 256;

/// Says when a worker may send the next put, so that neither its own memory nor that of a server
/// fills with blocks on their way.
/// Threads: owner only
class OpenWrites {
 public:
  enum class Next : std::uint8_t { send, ask, wait };

  /// @param most_bytes of blocks on their way to all servers; 0: no limit. One block always may.
  OpenWrites(Rank servers, PutCredit credit, std::uint64_t most_bytes)
      : credit_(credit), most_bytes_(most_bytes), servers_(servers) {}

  /// Says what to do with a write of this size: to send it, to ask the server with a message first,
  /// or to wait for an answer.
  /// @param bytes of its block; 0: it has none
  Next next(Rank server, std::uint64_t bytes);
  /// Notes that the server has granted what the worker asked for.
  void granted(Rank server) noexcept { servers_[server].wish = Wish::granted; }
  /// Notes a write that next() let go.
  void sent(Rank server, std::uint64_t request, std::uint64_t bytes);
  /// Notes an answer of a server, to a write or to anything else.
  void answered(Rank server, std::uint64_t request) noexcept;

  /// Returns the bytes of the blocks on their way.
  std::uint64_t bytes() const noexcept { return bytes_; }
  /// Returns the most that bytes() has been.
  std::uint64_t peak_bytes() const noexcept { return peak_bytes_; }

 private:
  struct Write {
    std::uint64_t request = 0;
    std::uint64_t bytes = 0;
  };
  enum class Wish : std::uint8_t { none, asked, granted };
  struct Server {
    std::deque<Write> writes;        // mostly answered in their order
    std::uint64_t shared_bytes = 0;  // of those that were sent without asking
    Wish wish = Wish::none;
  };

  const PutCredit credit_;
  const std::uint64_t most_bytes_;
  std::vector<Server> servers_;
  std::uint64_t bytes_ = 0;
  std::uint64_t peak_bytes_ = 0;
};

}  // namespace ob::sial
