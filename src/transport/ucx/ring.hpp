#pragma once
// Both ends keep a ring of one size and put byte i of the stream at the same place of it, so that a
// piece that lies in one part at its sender does so at its receiver.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "transport/ucx/hello.hpp"

namespace ob::transport::ucx {

inline constexpr std::size_t kRingBytes = std::size_t{2} << 20;
// The largest piece.
inline constexpr std::size_t kPieceBytes = std::size_t{256} << 10;
// A sender sleeps until this much is free, and credit is given in such portions: each small one
// would cost a message.
inline constexpr std::size_t kPortionBytes = kRingBytes / 4;

/// Header of a piece of the stream.
struct DataHeader {
  Token token;
  std::uint64_t offset;
};

/// Says that the receiver has consumed so many bytes in all.
struct CreditHeader {
  Token token;
  std::uint64_t consumed;
};

class Ring {
 public:
  // Not cleared: its pages come with their first use.
  Ring() : bytes_(new std::byte[kRingBytes]) {}
  std::byte* at(std::uint64_t offset) noexcept { return bytes_.get() + offset % kRingBytes; }
  /// Bytes from `offset` to the end of the memory.
  static std::size_t contiguous(std::uint64_t offset) noexcept {
    return kRingBytes - static_cast<std::size_t>(offset % kRingBytes);
  }

 private:
  std::unique_ptr<std::byte[]> bytes_;
};

}  // namespace ob::transport::ucx
