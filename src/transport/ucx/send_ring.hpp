#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "transport/ucx/hello.hpp"
#include "transport/ucx/ring.hpp"
#include "transport/ucx/worker.hpp"

namespace ob::transport::ucx {

/// A piece of the stream on its way.
struct Departure {
  DataHeader header{};
  std::span<const std::byte> data;
  Operation operation;
};

/// The sender's ring: bytes stay until UCX is done with them and the peer has consumed them.
/// Threads: owner only, but the space that reserve() gave may be filled meanwhile
class Departures {
 public:
  /// Space for the next piece; empty if the peer has to consume first.
  std::span<std::byte> reserve() noexcept;
  /// Makes the first size_bytes of that space the next piece. It stays where it is until it is
  /// done.
  Departure& commit(std::size_t size_bytes, const Token& token);
  /// Forgets pieces that are done. False if one of them failed.
  bool settle() noexcept;
  /// The peer has consumed so many bytes in all. False if that cannot be.
  bool credit(std::uint64_t consumed) noexcept;

  std::size_t room() const noexcept;
  std::uint64_t sent() const noexcept { return sent_; }
  /// True while UCX is at work on a piece.
  bool busy() const noexcept { return !pieces_.empty(); }

 private:
  Ring ring_;
  std::deque<Departure> pieces_;  // which does not move what it holds
  std::uint64_t sent_ = 0;
  std::uint64_t settled_ = 0;
  std::uint64_t credited_ = 0;
};

}  // namespace ob::transport::ucx
