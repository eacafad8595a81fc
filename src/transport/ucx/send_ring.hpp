#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "transport/ucx/hello.hpp"
#include "transport/ucx/ring.hpp"
#include "transport/ucx/worker.hpp"

namespace ob::transport::ucx {

/// A piece of the stream that is being sent.
struct PendingSend {
  DataHeader header{};
  std::span<const std::byte> data;
  Operation operation;
};

/// The sender's ring. Bytes stay until UCX has finished with them and the peer has consumed them.
/// Threads: owner only, but the space from reserve() may be filled meanwhile
class SendRing {
 public:
  /// Returns space for the next piece; empty if the peer must consume first.
  std::span<std::byte> reserve() noexcept;
  /// Makes the first size_bytes of that space the next piece. The piece does not move until it is
  /// done.
  PendingSend& commit(std::size_t size_bytes, const Token& token);
  /// Removes finished pieces; false if one of them failed.
  bool settle() noexcept;
  /// Notes the total of bytes that the peer has consumed; false if it is impossible.
  bool credit(std::uint64_t consumed) noexcept;

  std::size_t room() const noexcept;
  std::uint64_t sent() const noexcept { return sent_; }
  /// True while UCX sends a piece.
  bool busy() const noexcept { return !pieces_.empty(); }

 private:
  Ring ring_;
  std::deque<PendingSend> pieces_;  // a deque does not move its elements
  std::uint64_t sent_ = 0;
  std::uint64_t settled_ = 0;
  std::uint64_t credited_ = 0;
};

}  // namespace ob::transport::ucx
