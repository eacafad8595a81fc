#include "api/rectangle.hpp"

#include <algorithm>
#include <string>

#include "wire/byte_swap.hpp"

namespace ob::api {

Outcome sides_of(const ob_rect* rect, std::uint64_t offset_bytes, Sides& sides) {
  if (rect == nullptr) return mistake("no rectangle (the pointer is NULL)");
  const std::uint32_t word = rect->word_bytes == 0 ? 1 : rect->word_bytes;
  if (word != 1 && word != 2 && word != 4 && word != 8) {
    return mistake("words of " + std::to_string(word) +
                   " bytes; word_bytes is 0, 1, 2, 4 or 8 (a complex number is two words)");
  }
  if ((rect->width_bytes | rect->device_pitch_bytes | rect->host_pitch_bytes) % word != 0) {
    return mistake("the width or a pitch of a rectangle is no multiple of its word_bytes (" +
                   std::to_string(word) + ")");
  }
  if (rect->rows > 1 && (rect->device_pitch_bytes < rect->width_bytes ||
                         rect->host_pitch_bytes < rect->width_bytes)) {
    return mistake("a pitch of a rectangle is below its width of " +
                   std::to_string(rect->width_bytes) + " bytes (its rows would overlap)");
  }
  const auto side = [&](std::uint64_t pitch_bytes) {
    Region region{.element_bytes = word, .rows = rect->width_bytes / word, .cols = rect->rows};
    // An empty rectangle may have pitch 0, a region may not.
    region.ld = std::max<std::uint64_t>(1, rect->rows > 1 ? pitch_bytes / word : region.rows);
    region.word_bytes = static_cast<std::uint8_t>(rect->word_bytes);
    return region;
  };
  sides.device = side(rect->device_pitch_bytes);
  sides.device.offset_bytes = offset_bytes;
  sides.host = side(rect->host_pitch_bytes);
  return {};
}

Outcome check_words(const OpenDevice& device, const Region& region) {
  if (region.word_bytes != 0 || device.big_endian() == wire::kBigEndian) return {};
  return mistake(
      "the device's host has the other byte order, and the size of a number is not said; "
      "use ob_write_2d or ob_read_2d with word_bytes");
}

}  // namespace ob::api
