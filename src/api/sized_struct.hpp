#pragma once
// Structs that grow at their end in later versions: the caller's may be shorter or longer than the
// library's.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "api/outcome.hpp"

namespace ob::api {

/// Copies a struct of the library to the caller's, as far as both know it; the caller's
/// struct_bytes stays.   @pre check_size(to) is ok
template <class Struct>
void give(const Struct& from, Struct& to) noexcept {
  const std::size_t bytes = to.struct_bytes;
  std::memcpy(static_cast<void*>(&to), &from, std::min(bytes, sizeof from));
  to.struct_bytes = bytes;
}

/// Checks a struct that the caller gives for results, or as an argument.
/// @param name of the struct, for the message
template <class Struct>
Outcome check_size(const Struct* given, const char* name) {
  if (given == nullptr) return mistake(std::string("no ") + name + " (the pointer is NULL)");
  // Versions of the structs so far: one.
  if (given->struct_bytes >= sizeof(Struct)) return {};
  return mistake("an " + std::string(name) + " of " + std::to_string(given->struct_bytes) +
                 " bytes (too small); set its struct_bytes to sizeof(" + name + ")");
}

/// Copies an argument of the caller. Members that this library does not know must be 0, because it
/// would not do what they say.
template <class Struct>
Outcome take(const Struct* given, const char* name, Struct& taken) {
  if (Outcome checked = check_size(given, name); !checked.ok()) return checked;
  const auto* const bytes = reinterpret_cast<const char*>(given);
  if (std::any_of(bytes + sizeof(Struct), bytes + given->struct_bytes,
                  [](char byte) { return byte != 0; })) {
    return Outcome(Status(Code::unsupported, "a member of " + std::string(name) +
                                                 " is unknown (it is of a later version); install "
                                                 "a library that matches the header"));
  }
  std::memcpy(static_cast<void*>(&taken), given, sizeof taken);
  return {};
}

}  // namespace ob::api
