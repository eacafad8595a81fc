#pragma once
// Converts bytes to and from hexadecimal text, for golden bytes and readable failures.

#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ob::test {

/// Converts "01 ff  // comment\n 2A" to {0x01, 0xff, 0x2a}. Blanks and line ends are ignored;
/// comments start with // and end with the line.
inline std::vector<std::byte> from_hex(std::string_view text) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i, 2) == "//") {
      const std::size_t end = text.find('\n', i);
      i = end == std::string_view::npos ? text.size() : end;
    } else if (text[i] == ' ' || text[i] == '\n') {
      ++i;
    } else {
      const std::string digits(text.substr(i, 2));
      char* end = nullptr;
      bytes.push_back(static_cast<std::byte>(std::strtoul(digits.c_str(), &end, 16)));
      if (digits.size() != 2 || *end != '\0') std::abort();  // a mistake in the test itself
      i += 2;
    }
  }
  return bytes;
}

/// Writes eight bytes on each line.
inline std::string to_hex(std::span<const std::byte> bytes) {
  static const char* kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    text += kDigits[std::to_integer<int>(bytes[i]) >> 4];
    text += kDigits[std::to_integer<int>(bytes[i]) & 15];
    text += i % 8 == 7 ? '\n' : ' ';
  }
  return text;
}

}  // namespace ob::test
