#pragma once
// The input of a target with a stream: four bytes, a script for our side, the bytes of the peer.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ob::fuzz {

using Bytes = std::vector<std::byte>;
using View = std::span<const std::byte>;

/// The behaviour of a stream. All byte values are valid.
struct Delivery {
  std::uint8_t pieces = 0;  ///< 0: all bytes come at once; else the seed for sizes of pieces
  /// 0: a send takes all bytes; below 128: the seed for the bytes that a send takes; else the peer
  /// closes the connection after 64 bytes for each unit above 128
  std::uint8_t sends = 0;
  std::uint8_t flags = 0;  ///< a combination of Flag
};

enum Flag : std::uint8_t {
  kSharesMemory = 1,
  kFallsSilent = 2,    ///< at the end of the input the peer is silent; else it closes
  kKeepsSession = 4,   ///< daemon: a session outlives its connection, the next can join
  kSplitsAtHello = 8,  ///< daemon: a further hello starts a further connection
  kSegmentKinds = 48,  ///< client: the kind of segment that arrives, one of four
};
inline constexpr unsigned kSegmentShift = 4;

struct Input {
  Delivery delivery;
  View script;
  View stream;
};

inline Input parse(View bytes) noexcept {
  const auto at = [&](std::size_t i) {
    return i < bytes.size() ? std::to_integer<std::uint8_t>(bytes[i]) : std::uint8_t{0};
  };
  Input input;
  input.delivery = {at(0), at(1), at(2)};
  const std::size_t script = at(3);
  bytes = bytes.subspan(std::min<std::size_t>(4, bytes.size()));
  input.script = bytes.first(std::min(script, bytes.size()));
  input.stream = bytes.subspan(input.script.size());
  return input;
}

/// The inverse of parse().   @pre script.size() < 256
Bytes assemble(const Delivery& delivery, View script, View stream);

}  // namespace ob::fuzz
