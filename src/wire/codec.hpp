#pragma once
// Encoding and decoding of headers and bodies (wire/message.hpp). Decoding treats bytes as hostile:
// every length, enumerator and flag is checked, nothing is read past the end, trailing bytes are an
// error. Nothing here allocates, except decode() for long texts, lists and errors.

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.hpp"
#include "wire/detail/bytes.hpp"
#include "wire/message.hpp"

namespace ob::wire {

/// A body under construction. It lives on the stack and never allocates. A finished body is a
/// multiple of 8 bytes.
class Body {
 public:
  std::span<const std::byte> bytes() const noexcept { return {data_.data(), size_}; }
  void u8(std::uint8_t v) noexcept { append(v); }
  void u16(std::uint16_t v) noexcept { append(v); }
  void u32(std::uint32_t v) noexcept { append(v); }
  void u64(std::uint64_t v) noexcept { append(v); }
  void f64(double v) noexcept { append(std::bit_cast<std::uint64_t>(v)); }
  /// Appends a text: u32 length, the characters, zeros up to the next multiple of 8. Cuts it to
  /// max_bytes.
  void text(std::string_view v, std::size_t max_bytes) noexcept;
  void pad_to_8() noexcept;

 private:
  // A body that overflows is a bug of this program (every text is cut to its limit, and the largest
  // message is a third of kMaxBodyBytes); release builds drop the excess.
  template <class T>
  void append(T value) noexcept {
    assert(size_ + sizeof(T) <= data_.size());
    if (size_ + sizeof(T) > data_.size()) return;
    detail::store(data_.data() + size_, value);
    size_ += sizeof(T);
  }

  std::array<std::byte, kMaxBodyBytes> data_;  // only the first size_ bytes are meaningful
  std::size_t size_ = 0;
};

/// Reads a body front to back. After any failed read ok() stays false and reads return zeros.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}
  std::uint8_t u8() noexcept { return take<std::uint8_t>(); }
  std::uint16_t u16() noexcept { return take<std::uint16_t>(); }
  std::uint32_t u32() noexcept { return take<std::uint32_t>(); }
  std::uint64_t u64() noexcept { return take<std::uint64_t>(); }
  double f64() noexcept { return std::bit_cast<double>(u64()); }
  std::string_view text(std::size_t max_bytes) noexcept;
  void skip_pad_to_8() noexcept;
  bool ok() const noexcept { return ok_; }
  /// True if ok() and everything is consumed.
  bool finished() const noexcept { return ok_ && at_ == bytes_.size(); }

 private:
  template <class T>
  T take() noexcept {
    if (!ok_ || bytes_.size() - at_ < sizeof(T)) {
      ok_ = false;
      return 0;
    }
    const T value = detail::load<T>(bytes_.data() + at_);
    at_ += sizeof(T);
    return value;
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

void encode_header(const Header& header, std::span<std::byte, kHeaderBytes> out) noexcept;
/// Errors: protocol_error for an unknown opcode, body_bytes > kMaxBodyBytes or not a multiple of 8,
/// flags != 0, a body or a payload on a message that has none.
Result<Header> decode_header(std::span<const std::byte, kHeaderBytes> bytes);

/// messages.cpp instantiates both functions for every body of wire/message.hpp that is not empty,
/// from its field list (wire/message_fields.hpp).
template <class Message>
void encode(const Message& message, Body& body) noexcept;
/// Errors: protocol_error; it names the message and the mistake. Hello, Welcome, JoinStream and
/// JoinPeer decode with any version, as long as magic and version can be read. The caller compares
/// versions, so that a refusal can name both.
template <class Message>
Result<Message> decode(std::span<const std::byte> body);

}  // namespace ob::wire
