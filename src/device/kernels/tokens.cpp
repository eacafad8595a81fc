#include "device/kernels/tokens.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace ob::kernels {
namespace {

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Returns the end of the literal that begins at `begin`: behind its quote, or where its line ends.
std::size_t literal_end(std::string_view text, std::size_t begin) noexcept {
  std::size_t at = begin + 1;
  while (at < text.size() && text[at] != text[begin] && text[at] != '\n') {
    at += text[at] == '\\' && at + 1 < text.size() && text[at + 1] != '\n' ? 2 : 1;
  }
  return at < text.size() && text[at] == text[begin] ? at + 1 : at;
}

// Returns the length of a backslash with the end of its line; 0 for other places.
std::size_t splice_length(std::string_view text, std::size_t at) noexcept {
  const std::string_view rest = text.substr(at, 3);
  if (rest.starts_with("\\\n")) return 2;
  return rest == "\\\r\n" ? 3 : 0;
}

std::size_t symbol_length(std::string_view text) noexcept {
  constexpr std::array<std::string_view, 9> kPairs{"==", "!=", "<=", ">=", "&&",
                                                   "||", "<<", ">>", "##"};
  const bool pair = std::find(kPairs.begin(), kPairs.end(), text.substr(0, 2)) != kPairs.end();
  return pair ? 2 : 1;
}

// Joins lines. The newlines that are removed follow the joined line.
std::string without_splices(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  std::size_t removed = 0;
  for (std::size_t at = 0; at < source.size();) {
    if (const std::size_t length = splice_length(source, at); length != 0) {
      at += length;
      ++removed;
      continue;
    }
    text += source[at];
    if (source[at] == '\n') {
      text.append(removed, '\n');
      removed = 0;
    }
    ++at;
  }
  return text;
}

// Returns the end of the name or number that begins at `at`. A number may have a point.
std::size_t word_end(std::string_view line, std::size_t at) {
  const bool is_number = is_digit(line[at]);
  const auto belongs = [&](char c) {
    return is_letter(c) || is_digit(c) || (is_number && c == '.');
  };
  std::size_t end = at + 1;
  while (end < line.size() && belongs(line[end])) ++end;
  return end;
}

}  // namespace

std::string without_comments(std::string_view source) {
  const std::string joined = without_splices(source);
  std::string text;
  text.reserve(joined.size());
  for (std::size_t at = 0; at < joined.size();) {
    const std::string_view rest = std::string_view(joined).substr(at);
    if (rest.starts_with("//")) {
      at += std::min(rest.find('\n'), rest.size());
    } else if (rest.starts_with("/*")) {
      const std::size_t close = rest.find("*/", 2);
      const std::size_t length = close == std::string_view::npos ? rest.size() : close + 2;
      text += ' ';
      text.append(static_cast<std::size_t>(std::count(
                      rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(length), '\n')),
                  '\n');
      at += length;
    } else if (rest[0] == '"' || rest[0] == '\'') {
      const std::size_t end = literal_end(joined, at);
      text.append(joined, at, end - at);
      at = end;
    } else {
      text += rest[0];
      ++at;
    }
  }
  return text;
}

void append_tokens(std::string_view line, std::uint32_t number, std::vector<Token>& tokens) {
  for (std::size_t at = 0; at < line.size();) {
    const char first = line[at];
    Token token{Token::Type::symbol, {}, number};
    if (first == ' ' || (first >= '\t' && first <= '\r')) {
      ++at;
      continue;
    }
    std::size_t end = at;
    if (is_letter(first) || is_digit(first)) {
      token.type = is_letter(first) ? Token::Type::name : Token::Type::number;
      end = word_end(line, at);
    } else if (first == '"' || first == '\'') {
      token.type = Token::Type::text;
      end = literal_end(line, at);
    } else {
      end = at + symbol_length(line.substr(at));
    }
    token.text = line.substr(at, end - at);
    tokens.push_back(token);
    at = end;
  }
}

}  // namespace ob::kernels
