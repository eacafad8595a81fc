#pragma once
// Splits the bytes of a stream into messages, for any bytes.

#include <cstring>
#include <vector>

#include "fuzz/input.hpp"
#include "wire/codec.hpp"
#include "wire/message.hpp"

namespace ob::fuzz {

/// One message as it lies in the bytes. The lengths in its header may be wrong.
struct RawMessage {
  Bytes header;  ///< fewer than kHeaderBytes at the end of the input
  Bytes body;
  Bytes payload;

  std::size_t size() const noexcept { return header.size() + body.size() + payload.size(); }
  bool whole() const noexcept { return header.size() == wire::kHeaderBytes; }
  template <class Number>
  Number number(std::size_t offset) const noexcept {
    Number value;
    std::memcpy(&value, header.data() + offset, sizeof value);
    return value;
  }
  template <class Number>
  void set_number(std::size_t offset, Number value) noexcept {
    std::memcpy(header.data() + offset, &value, sizeof value);
  }
  wire::Opcode opcode() const noexcept {
    return whole() ? static_cast<wire::Opcode>(number<std::uint16_t>(0)) : wire::Opcode{};
  }
};

// Offsets in a header (docs/wire.md, section 1).
inline constexpr std::size_t kOpcodeAt = 0;
inline constexpr std::size_t kBodyBytesAt = 4;
inline constexpr std::size_t kQueueAt = 8;
inline constexpr std::size_t kSequenceAt = 16;
inline constexpr std::size_t kPayloadBytesAt = 24;

/// Cuts the bytes into messages at the lengths in the headers, as far as there are bytes.
inline std::vector<RawMessage> split(View bytes) {
  std::vector<RawMessage> pieces;
  const auto take = [&](std::uint64_t wanted) {
    const View taken = bytes.first(std::min<std::uint64_t>(wanted, bytes.size()));
    bytes = bytes.subspan(taken.size());
    return Bytes(taken.begin(), taken.end());
  };
  while (!bytes.empty()) {
    RawMessage piece;
    piece.header = take(wire::kHeaderBytes);
    if (piece.whole()) {
      piece.body = take(piece.number<std::uint32_t>(kBodyBytesAt));
      piece.payload = take(piece.number<std::uint64_t>(kPayloadBytesAt));
    }
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

inline void append(Bytes& bytes, View more) { bytes.insert(bytes.end(), more.begin(), more.end()); }

inline void append(Bytes& bytes, const RawMessage& piece) {
  append(bytes, View(piece.header));
  append(bytes, View(piece.body));
  append(bytes, View(piece.payload));
}

inline Bytes join(const std::vector<RawMessage>& pieces) {
  Bytes bytes;
  for (const RawMessage& piece : pieces) append(bytes, piece);
  return bytes;
}

/// Returns a message with correct lengths.
inline RawMessage raw_message(wire::Header header, View body, View payload = {}) {
  header.body_bytes = static_cast<std::uint32_t>(body.size());
  header.payload_bytes = payload.size();
  RawMessage piece;
  piece.header.resize(wire::kHeaderBytes);
  wire::encode_header(header, std::span<std::byte, wire::kHeaderBytes>(piece.header));
  piece.body.assign(body.begin(), body.end());
  piece.payload.assign(payload.begin(), payload.end());
  return piece;
}

}  // namespace ob::fuzz
