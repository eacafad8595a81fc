#include "api/peer_objects.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>

namespace ob::api {
namespace {

constexpr std::size_t kKeyDigits = 32;

// Reads 16 hexadecimal digits.
bool read_word(std::string_view digits, std::uint64_t& word) {
  const char* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, word, 16);
  return read.ec == std::errc() && read.ptr == end;
}

}  // namespace

std::string address_text(std::string_view kind, const Mailbox& address) {
  std::array<char, kKeyDigits + 2> key{};
  (void)std::snprintf(key.data(), key.size(), "#%016llx%016llx",
                      static_cast<unsigned long long>(address.access_key[0]),
                      static_cast<unsigned long long>(address.access_key[1]));
  return std::string(kind) + address.address + key.data();
}

Result<Mailbox> read_address(std::string_view kind, std::string_view text) {
  const Status wrong(Code::invalid_argument,
                     "no such address (the form is " + std::string(kind) +
                         "HOST:PORT#KEY); pass the text of the function that makes it as it is");
  if (text.substr(0, kind.size()) != kind) return wrong;
  text.remove_prefix(kind.size());
  const std::size_t hash = text.rfind('#');
  if (hash == std::string_view::npos || text.size() - hash - 1 != kKeyDigits) return wrong;
  Mailbox mailbox{std::string(text.substr(0, hash)), {}};
  const std::string_view key = text.substr(hash + 1);
  const bool read = read_word(key.substr(0, kKeyDigits / 2), mailbox.access_key[0]) &&
                    read_word(key.substr(kKeyDigits / 2), mailbox.access_key[1]);
  if (!read || mailbox.address.empty()) return wrong;
  return mailbox;
}

}  // namespace ob::api
