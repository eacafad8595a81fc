#pragma once
// What bodies are made of.

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/layout.hpp"
#include "wire/codec.hpp"
#include "wire/fields.hpp"

namespace ob::wire {

// Limits of texts; docs/wire.md lists them.
inline constexpr std::size_t kMaxNameBytes = 255;
inline constexpr std::size_t kMaxTextBytes = 1024;

inline void put(Body& body, const Token& token) noexcept {
  body.u64(token[0]);
  body.u64(token[1]);
}

inline Token take_token(Fields& fields, std::string_view field) {
  const std::uint64_t first = fields.u64(field);
  return {first, fields.u64(field)};
}

inline void put(Body& body, const Region& region) noexcept {
  body.u64(region.offset_bytes);
  body.u32(region.element_bytes);
  body.u8(static_cast<std::uint8_t>(region.triangle));
  body.u8(region.word_bytes);
  body.pad_to_8();
  body.u64(region.rows);
  body.u64(region.cols);
  body.u64(region.ld);
}

inline std::uint8_t take_word_bytes(Fields& fields, std::string_view field,
                                    std::uint32_t element_bytes) {
  const std::uint8_t word_bytes = fields.u8(field);
  if (word_bytes == 0) return 0;
  if (word_bytes > 8 || !std::has_single_bit(word_bytes)) {
    fields.refuse(field, "has words of " + std::to_string(word_bytes) + " bytes (1, 2, 4 or 8)");
  } else if (element_bytes % word_bytes != 0) {
    fields.refuse(field, "has elements that are not whole words");
  }
  return word_bytes;
}

// Whether the region lies in its buffer is for the session to check: only it knows the buffer.
inline Region take_region(Fields& fields, std::string_view field) {
  Region region;
  region.offset_bytes = fields.u64(field);
  region.element_bytes = fields.u32(field);
  region.triangle = fields.up_to(field, Triangle::lower_strict);
  region.word_bytes = take_word_bytes(fields, field, region.element_bytes);
  fields.padding();
  region.rows = fields.u64(field);
  region.cols = fields.u64(field);
  region.ld = fields.u64(field);
  return region;
}

inline constexpr Code kLastCode = Code::busy;

// The part of hello and welcome that no version changes.
inline bool take_version(Fields& fields, std::uint16_t& version) {
  if (fields.u32("magic") != kMagic) {
    fields.refuse("magic", "is wrong (the peer is not an Outboard program) check address and port");
  }
  version = fields.u16("version");
  return fields.ok() && version == kVersion;
}

template <class Message>
Result<Message> finish(Fields& fields, Message& message) {
  OB_RETURN_IF_ERROR(fields.finish());
  return std::move(message);
}

template <class Message>
Result<Message> only_version(Fields& fields, std::uint16_t version) {
  if (!fields.ok()) return fields.finish();
  Message message;  // the rest may mean anything in another version
  message.version = version;
  return message;
}

}  // namespace ob::wire
