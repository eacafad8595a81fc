#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "transport/ucx/ring.hpp"
#include "transport/ucx/worker.hpp"

namespace ob::transport::ucx {

/// The receiver's ring. Pieces may come in any order; bytes are read in the stream's.
/// Threads: owner only, but what readable() gave may be read meanwhile
class Arrivals {
 public:
  /// A piece whose bytes are being put into `to`.
  struct Piece {
    std::uint64_t offset = 0;
    std::size_t size_bytes = 0;
    std::byte* to = nullptr;
    Operation operation;
  };

  /// Makes place for a piece; it stays there until it is done and its bytes are readable.
  /// nullptr if no honest sender sends that: beyond the room it has, or bytes it sent before.
  Piece* expect(std::uint64_t offset, std::size_t size_bytes);
  /// Takes up pieces that are done. False if one of them failed.
  bool settle() noexcept;
  /// The next bytes, as far as they lie in one part.
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
