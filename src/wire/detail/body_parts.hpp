#pragma once
// What the bodies of several messages have in common.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/layout.hpp"
#include "wire/codec.hpp"
#include "wire/fields.hpp"

namespace ob::wire::detail {

// Limits of texts; docs/wire.md lists them.
inline constexpr std::size_t kMaxNameBytes = 255;
inline constexpr std::size_t kMaxTextBytes = 1024;
inline constexpr Code kLastCode = Code::busy;

void put(Body& body, const Token& token) noexcept;
Token take_token(Fields& fields, std::string_view field);

void put(Body& body, const Region& region) noexcept;
/// Whether the region lies in its buffer is for the session to check: only it knows the buffer.
Region take_region(Fields& fields, std::string_view field);

/// The part of first messages and welcome that no version changes. False if the rest may mean
/// anything.
bool take_version(Fields& fields, std::uint16_t& version);

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

}  // namespace ob::wire::detail
