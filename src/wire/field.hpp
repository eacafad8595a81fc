#pragma once
// The elements of a field list. Each element defines how one member of a message is written to a
// body, read and checked, so that no member is written and not read. The lists themselves are in
// wire/message_fields.hpp.
//
// put() writes the element. take() reads it and returns false if the message ends early, because
// the rest belongs to another version. `label` is the name that an error message gives.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "wire/codec.hpp"
#include "wire/fields.hpp"

namespace ob::wire {

/// The elements of a message, or of a part of one, in the order in which they travel.
template <class... Elements>
struct FieldList {
  std::array<Opcode, 7>
      opcodes;  ///< the messages that have this body; `none` where there are fewer
  std::tuple<Elements...> elements;

  constexpr bool belongs_to(Opcode opcode) const noexcept {
    for (const Opcode each : opcodes) {
      if (each == opcode && each != Opcode::none) return true;
    }
    return false;
  }
};

template <class... Elements>
constexpr FieldList<Elements...> fields_of(std::array<Opcode, 7> opcodes, Elements... elements) {
  return {opcodes, {elements...}};
}

/// The field list of a type; specialised for every body, and for the parts of bodies.
template <class Type>
inline constexpr std::nullptr_t kFields = nullptr;

template <class Type>
using FieldIndices = std::make_index_sequence<
    std::tuple_size_v<std::remove_cvref_t<decltype(kFields<Type>.elements)>>>;

/// Calls visit(element) for the elements of a type in their order, as long as it returns true.
/// Elements are constants to the compiler.
template <class Type, class Visit, std::size_t... I>
constexpr bool for_each_field(Visit&& visit, std::index_sequence<I...>) {
  return (visit(std::get<I>(kFields<Type>.elements)) && ...);
}

template <class Type>
void put_all(Body& body, const Type& value) noexcept {
  const auto put = [&](const auto& element) {
    element.put(body, value);
    if constexpr (requires { element.goes_on(value); }) return element.goes_on(value);
    return true;
  };
  (void)for_each_field<Type>(put, FieldIndices<Type>());
}

/// Errors name the element.
template <class Type>
bool take_all(Fields& in, Type& value) {
  const auto take = [&](const auto& element) { return element.take(in, value, element.name); };
  return for_each_field<Type>(take, FieldIndices<Type>());
}

/// Errors name the part.
template <class Type>
bool take_part(Fields& in, Type& value, std::string_view part) {
  const auto take = [&](const auto& element) { return element.take(in, value, part); };
  return for_each_field<Type>(take, FieldIndices<Type>());
}

// --- numbers -------------------------------------------------------------------------------------

inline void put(Body& body, std::uint8_t value) noexcept { body.u8(value); }
inline void put(Body& body, std::uint16_t value) noexcept { body.u16(value); }
inline void put(Body& body, std::uint32_t value) noexcept { body.u32(value); }
inline void put(Body& body, std::uint64_t value) noexcept { body.u64(value); }
inline void put(Body& body, double value) noexcept { body.f64(value); }
inline void put(Body& body, const Token& token) noexcept {
  for (const std::uint64_t half : token) body.u64(half);
}
template <class Enum>
requires std::is_enum_v<Enum>
void put(Body& body, Enum value) noexcept {
  put(body, static_cast<std::underlying_type_t<Enum>>(value));
}
template <std::size_t kBytes>
void put(Body& body, const std::array<std::byte, kBytes>& bytes) noexcept {
  for (const std::byte each : bytes) body.u8(static_cast<std::uint8_t>(each));
}
inline void put(Body& body, const std::array<std::uint32_t, 3>& values) noexcept {
  for (const std::uint32_t each : values) body.u32(each);
}
template <class Tag>
void put(Body& body, const Id<Tag>& id) noexcept {
  body.u64(id.value);
}

inline void take(Fields& in, std::string_view label, std::uint8_t& value) { value = in.u8(label); }
inline void take(Fields& in, std::string_view label, std::uint16_t& value) {
  value = in.u16(label);
}
inline void take(Fields& in, std::string_view label, std::uint32_t& value) {
  value = in.u32(label);
}
inline void take(Fields& in, std::string_view label, std::uint64_t& value) {
  value = in.u64(label);
}
inline void take(Fields& in, std::string_view label, double& value) { value = in.f64(label); }
inline void take(Fields& in, std::string_view label, Token& token) {
  for (std::uint64_t& half : token) half = in.u64(label);
}
template <class Enum>
requires std::is_enum_v<Enum>
void take(Fields& in, std::string_view label, Enum& value) {
  std::underlying_type_t<Enum> number{};
  take(in, label, number);
  value = static_cast<Enum>(number);
}
template <std::size_t kBytes>
void take(Fields& in, std::string_view label, std::array<std::byte, kBytes>& bytes) {
  for (std::byte& each : bytes) each = static_cast<std::byte>(in.u8(label));
}
inline void take(Fields& in, std::string_view label, std::array<std::uint32_t, 3>& values) {
  for (std::uint32_t& each : values) each = in.u32(label);
}
template <class Tag>
void take(Fields& in, std::string_view label, Id<Tag>& id) {
  id.value = in.u64(label);
}

// --- elements ------------------------------------------------------------------------------------

/// A number, an enumerator that may be unknown, an id, a token, or bytes.
template <class Type, class Value>
struct Number {
  std::string_view name;
  Value Type::*member;
  void put(Body& body, const Type& value) const noexcept { wire::put(body, value.*member); }
  bool take(Fields& in, Type& value, std::string_view label) const {
    wire::take(in, label, value.*member);
    return true;
  }
};
template <class Type, class Value>
Number(const char*, Value Type::*) -> Number<Type, Value>;

/// One byte: an enumerator or a number, from 0 to `last`.
template <class Type, class Value>
struct UpTo {
  std::string_view name;
  Value Type::*member;
  Value last;
  void put(Body& body, const Type& value) const noexcept {
    body.u8(static_cast<std::uint8_t>(value.*member));
  }
  bool take(Fields& in, Type& value, std::string_view label) const {
    value.*member = in.up_to(label, last);
    return true;
  }
};
template <class Type, class Value>
UpTo(const char*, Value Type::*, Value) -> UpTo<Type, Value>;

template <class Type>
constexpr UpTo<Type, std::uint8_t> flag(const char* name, std::uint8_t Type::*member) {
  return {name, member, 1};
}

/// Characters, at most max_bytes.
template <class Type>
struct Text {
  std::string_view name;
  std::string Type::*member;
  std::size_t max_bytes;
  void put(Body& body, const Type& value) const noexcept { body.text(value.*member, max_bytes); }
  bool take(Fields& in, Type& value, std::string_view label) const {
    value.*member = in.text(label, max_bytes);
    return true;
  }
};
template <class Type>
Text(const char*, std::string Type::*, std::size_t) -> Text<Type>;

/// A member with a field list of its own.
template <class Type, class Value>
struct Part {
  std::string_view name;
  Value Type::*member;
  void put(Body& body, const Type& value) const noexcept { put_all(body, value.*member); }
  bool take(Fields& in, Type& value, std::string_view label) const {
    return take_part(in, value.*member, label);
  }
};
template <class Type, class Value>
Part(const char*, Value Type::*) -> Part<Type, Value>;

/// A count, and as many parts. The count and its padding take 8 bytes.
template <class Type, class Value>
struct List {
  std::string_view name;
  std::vector<Value> Type::*member;
  std::size_t most;
  void put(Body& body, const Type& value) const noexcept {
    const std::size_t count = std::min((value.*member).size(), most);
    body.u32(static_cast<std::uint32_t>(count));
    body.pad_to_8();
    for (std::size_t i = 0; i < count; ++i) put_all(body, (value.*member)[i]);
  }
  bool take(Fields& in, Type& value, std::string_view label) const {
    const std::uint32_t count = in.u32(label);
    if (count > most) in.refuse(label, "has too many entries");
    in.padding();
    for (std::uint32_t i = 0; in.ok() && i < count; ++i) {
      (void)take_part(in, (value.*member).emplace_back(), label);
    }
    return true;
  }
};
template <class Type, class Value>
List(const char*, std::vector<Value> Type::*, std::size_t) -> List<Type, Value>;

/// Magic and version: the beginning of the first message of a stream, in every version. A message
/// of another version ends here.
template <class Type>
struct VersionStart {
  std::uint16_t Type::*member;
  static constexpr std::string_view name = "version";
  void put(Body& body, const Type& value) const noexcept {
    body.u32(kMagic);
    body.u16(value.*member);
  }
  bool take(Fields& in, Type& value, std::string_view label) const {
    if (in.u32("magic") != kMagic) {
      in.refuse("magic", "is wrong (the peer is not an Outboard program) check address and port");
    }
    value.*member = in.u16(label);
    return in.ok() && is_known_version(value.*member);
  }
};
template <class Type>
VersionStart(std::uint16_t Type::*) -> VersionStart<Type>;

/// The end of a message of versions before `first`. It takes no bytes.
template <class Type>
struct Since {
  std::uint16_t Type::*member;
  std::uint16_t first;
  static constexpr std::string_view name = "";
  void put(Body&, const Type&) const noexcept {}
  bool goes_on(const Type& value) const noexcept { return value.*member >= first; }
  bool take(Fields&, const Type& value, std::string_view) const { return goes_on(value); }
};
template <class Type>
Since(std::uint16_t Type::*, int) -> Since<Type>;

/// Bytes that are 0 in this version.
struct Reserved {
  int bytes;
  static constexpr std::string_view name = "reserved";
  template <class Type>
  void put(Body& body, const Type&) const noexcept {
    for (int i = 0; i < bytes; ++i) body.u8(0);
  }
  template <class Type>
  bool take(Fields& in, const Type&, std::string_view label) const {
    for (int i = 0; i < bytes; ++i) {
      if (in.u8(label) != 0) in.refuse(label, "is not 0");
    }
    return true;
  }
};

/// Zeros up to the next multiple of 8.
struct Padding {
  static constexpr std::string_view name = "padding";
  template <class Type>
  void put(Body& body, const Type&) const noexcept {
    body.pad_to_8();
  }
  template <class Type>
  bool take(Fields& in, const Type&, std::string_view) const {
    in.padding();
    return true;
  }
};

/// A check of the members that have been read so far. It takes no bytes.
template <class Type>
struct Check {
  void (*check)(Fields& in, const Type& value, std::string_view label);
  static constexpr std::string_view name = "";
  void put(Body&, const Type&) const noexcept {}
  bool take(Fields& in, const Type& value, std::string_view label) const {
    check(in, value, label);
    return true;
  }
};

}  // namespace ob::wire
