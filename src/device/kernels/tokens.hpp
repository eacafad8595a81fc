#pragma once
// The tokens of a kernel's source, without comments.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ob::kernels {

struct Token {
  enum class Type : std::uint8_t { name, number, symbol, text };
  Type type = Type::symbol;
  std::string_view text;   ///< part of the text that was cut into tokens
  std::uint32_t line = 0;  ///< from 1

  bool is(std::string_view wanted) const noexcept { return text == wanted; }
};

/// Replaces comments by blanks and joins lines that end in a backslash. Newlines stay where the
/// lines of the source begin, so that tokens have the line of the source, or that of the beginning
/// of a joined line.
std::string without_comments(std::string_view source);

/// Appends the tokens of one line. Symbols of two characters are == != <= >= && || << >> ##.
void append_tokens(std::string_view line, std::uint32_t number, std::vector<Token>& tokens);

}  // namespace ob::kernels
