#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "transport/ucx/ring.hpp"
#include "transport/ucx/worker.hpp"

namespace ob::transport::ucx {

/// The receiver's ring. Pieces may arrive in any order; bytes are read in the order of the stream.
/// Threads: owner only, but the memory from readable() may be read meanwhile
class ReceiveRing {
 public:
  /// A piece whose bytes are on their way into `to`.
  struct Piece {
    std::uint64_t offset = 0;
    std::size_t size_bytes = 0;
    std::byte* to = nullptr;
    Operation operation;
  };

  /// Adds a piece, which stays until it is done and its bytes are readable. Returns nullptr for a
  /// piece that breaks the protocol: one beyond the granted room, or with bytes that came before.
  Piece* expect(std::uint64_t offset, std::size_t size_bytes);
  /// Makes finished pieces readable; false if one of them failed.
  bool settle() noexcept;
  /// Returns the next bytes, as far as they are contiguous in memory.
  std::span<const std::byte> readable() noexcept;
  void consume(std::size_t size_bytes) noexcept { consumed_ += size_bytes; }

  std::uint64_t arrived() const noexcept { return arrived_; }
  std::uint64_t consumed() const noexcept { return consumed_; }

 private:
  Ring ring_;
  std::deque<std::unique_ptr<Piece>> pieces_;  // in order of their offsets
  std::uint64_t arrived_ = 0;
  std::uint64_t consumed_ = 0;
};

}  // namespace ob::transport::ucx
