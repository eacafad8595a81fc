#pragma once
// Texts as strings of JSON.

#include <string>
#include <string_view>

namespace ob {

/// Calls `put` with each character of `text` as a string of JSON has it, without the quotes.
template <class Put>
void escape_json(std::string_view text, Put&& put) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20) {
      for (const char e : {'\\', 'u', '0', '0', kDigits[code >> 4], kDigits[code & 15]}) put(e);
      continue;
    }
    if (c == '"' || c == '\\') put('\\');
    put(c);
  }
}

/// Returns `text` as a string of JSON, with its quotes.
inline std::string json_text(std::string_view text) {
  std::string quoted = "\"";
  escape_json(text, [&](char c) { quoted += c; });
  return quoted + "\"";
}

}  // namespace ob
