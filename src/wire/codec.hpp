#pragma once
// Encoding and decoding of headers and bodies (wire/message.hpp). Decoding treats bytes as hostile:
// every length, enumerator and flag is checked, nothing is read past the end, trailing bytes are an
// error.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.hpp"
#include "wire/message.hpp"

namespace ob::wire {

/// A body under construction; lives on the stack, never allocates. Always a multiple of 8 bytes
/// once finished.
class Body {
 public:
  std::span<const std::byte> bytes() const noexcept { return {data_.data(), size_}; }
  void u8(std::uint8_t v) noexcept;
  void u16(std::uint16_t v) noexcept;
  void u32(std::uint32_t v) noexcept;
  void u64(std::uint64_t v) noexcept;
  void f64(double v) noexcept;
  /// u32 length, the characters, zeros up to the next multiple of 8. Cut to max_bytes.
  void text(std::string_view v, std::size_t max_bytes) noexcept;
  void pad_to_8() noexcept;

 private:
  std::array<std::byte, kMaxBodyBytes> data_;  // only the first size_ bytes are meaningful
  std::size_t size_ = 0;
};

/// Reads a body front to back. After any failed read ok() stays false and reads return zeros.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}
  std::uint8_t u8() noexcept;
  std::uint16_t u16() noexcept;
  std::uint32_t u32() noexcept;
  std::uint64_t u64() noexcept;
  double f64() noexcept;
  std::string_view text(std::size_t max_bytes) noexcept;
  void skip_pad_to_8() noexcept;
  bool ok() const noexcept { return ok_; }
  /// ok() and everything consumed.
  bool finished() const noexcept { return ok_ && at_ == bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

void encode_header(const Header& header, std::span<std::byte, kHeaderBytes> out) noexcept;
/// Errors: protocol_error for an unknown opcode, body_bytes > kMaxBodyBytes or not a multiple of 8,
/// flags != 0, a body or a payload on a message that has none.
Result<Header> decode_header(std::span<const std::byte, kHeaderBytes> bytes);

/// Specialised for every body of wire/message.hpp that is not empty.
template <class Message>
void encode(const Message& message, Body& body) noexcept;
/// Errors: protocol_error, naming the message and what is wrong with it. Hello, Welcome,
/// JoinStream, JoinPeer decode whatever version they carry as long as magic and version can be read
/// (the caller compares versions, so that a refusal can name both).
template <class Message>
Result<Message> decode(std::span<const std::byte> body);

#define OB_WIRE_BODY(Message)                               \
  template <>                                               \
  void encode(const Message& message, Body& body) noexcept; \
  template <>                                               \
  Result<Message> decode(std::span<const std::byte> body)

OB_WIRE_BODY(Hello);
OB_WIRE_BODY(Welcome);
OB_WIRE_BODY(Refused);
OB_WIRE_BODY(Stripes);
OB_WIRE_BODY(JoinStream);
OB_WIRE_BODY(SetAccuracy);
OB_WIRE_BODY(Allocate);
OB_WIRE_BODY(Free);
OB_WIRE_BODY(Locate);
OB_WIRE_BODY(Write);
OB_WIRE_BODY(Read);
OB_WIRE_BODY(Digest);
OB_WIRE_BODY(Copy);
OB_WIRE_BODY(DestroyPlan);
OB_WIRE_BODY(ExecutePlan);
OB_WIRE_BODY(Record);
OB_WIRE_BODY(Wait);
OB_WIRE_BODY(Mailbox);
OB_WIRE_BODY(ConnectPeer);
OB_WIRE_BODY(DisconnectPeer);
OB_WIRE_BODY(Send);
OB_WIRE_BODY(Receive);
OB_WIRE_BODY(JoinPeer);
OB_WIRE_BODY(PeerMessage);
OB_WIRE_BODY(Location);
OB_WIRE_BODY(Outcome);
OB_WIRE_BODY(Credit);
#undef OB_WIRE_BODY

}  // namespace ob::wire
