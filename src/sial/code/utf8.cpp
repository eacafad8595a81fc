#include "sial/code/utf8.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace ob::sial {
namespace {

constexpr std::uint32_t kHighestCharacter = 0x10ffff;

// A row per number of bytes that follow the first: the bits that mark the first byte, and the
// lowest character that needs so many bytes.
struct Utf8Form {
  std::uint32_t mask, mark, lowest;
};
constexpr std::array<Utf8Form, 4> kUtf8Forms{
    {{0x80, 0x00, 1}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}}};

// Returns the number of bytes of the character at the beginning; 0 if there is none.
std::size_t character_bytes(std::span<const std::byte> bytes) {
  const auto first = static_cast<std::uint32_t>(bytes[0]);
  const auto form = std::find_if(kUtf8Forms.begin(), kUtf8Forms.end(),
                                 [&](const Utf8Form& f) { return (first & f.mask) == f.mark; });
  if (form == kUtf8Forms.end()) return 0;
  const auto size = static_cast<std::size_t>(form - kUtf8Forms.begin()) + 1;
  if (bytes.size() < size) return 0;
  std::uint32_t character = first & ~form->mask;
  for (std::size_t i = 1; i < size; ++i) {
    const auto next = static_cast<std::uint32_t>(bytes[i]);
    if ((next & 0xc0) != 0x80) return 0;
    character = character << 6 | (next & 0x3f);
  }
  const bool surrogate = 0xd800 <= character && character <= 0xdfff;
  return character < form->lowest || character > kHighestCharacter || surrogate ? 0 : size;
}

}  // namespace

bool is_text(std::span<const std::byte> bytes) noexcept {
  while (!bytes.empty()) {
    const std::size_t size = character_bytes(bytes);
    if (size == 0) return false;
    bytes = bytes.subspan(size);
  }
  return true;
}

}  // namespace ob::sial
