#pragma once
// The memory of the two rings. Both ends have a ring of the same size, and put byte i of the stream
// at the same place. So a piece that is contiguous at the sender is contiguous at the receiver.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "transport/ucx/hello.hpp"

namespace ob::transport::ucx {

inline constexpr std::size_t kRingBytes = std::size_t{2} << 20;
// The largest piece.
inline constexpr std::size_t kPieceBytes = std::size_t{256} << 10;
// A sender sleeps until this much is free, and credit is granted in such portions, because each
// grant costs a message.
inline constexpr std::size_t kPortionBytes = kRingBytes / 4;

/// Header of a piece of the stream.
struct DataHeader {
  Token token;
  std::uint64_t offset;
};

/// Reports the total of bytes that the receiver has consumed.
struct CreditHeader {
  Token token;
  std::uint64_t consumed;
};

class Ring {
 public:
  // The memory is not cleared, so that the system provides its pages at their first use.
  Ring() : bytes_(new std::byte[kRingBytes]) {}
  std::byte* at(std::uint64_t offset) noexcept { return bytes_.get() + offset % kRingBytes; }
  /// Returns the bytes from `offset` to the end of the memory.
  static std::size_t contiguous(std::uint64_t offset) noexcept {
    return kRingBytes - static_cast<std::size_t>(offset % kRingBytes);
  }

 private:
  std::unique_ptr<std::byte[]> bytes_;
};

}  // namespace ob::transport::ucx
