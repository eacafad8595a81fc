#include "wire/codec.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace ob::wire {

void Body::text(std::string_view v, std::size_t max_bytes) noexcept {
  constexpr std::size_t kLengthBytes = 4;
  assert(data_.size() - size_ >= kLengthBytes);
  if (data_.size() - size_ < kLengthBytes) return;
  const std::size_t length = std::min({v.size(), max_bytes, data_.size() - size_ - kLengthBytes});
  u32(static_cast<std::uint32_t>(length));
  if (length != 0) std::memcpy(data_.data() + size_, v.data(), length);
  size_ += length;
  pad_to_8();
}

void Body::pad_to_8() noexcept {
  // in bounds: kMaxBodyBytes is a multiple of 8
  while (size_ % 8 != 0) data_[size_++] = std::byte{0};
}

std::string_view Reader::text(std::size_t max_bytes) noexcept {
  const std::size_t length = u32();
  if (!ok_ || length > max_bytes || length > bytes_.size() - at_) {
    ok_ = false;
    return {};
  }
  const std::string_view value(reinterpret_cast<const char*>(bytes_.data() + at_), length);
  at_ += length;
  skip_pad_to_8();
  return ok_ ? value : std::string_view();
}

void Reader::skip_pad_to_8() noexcept {
  while (ok_ && at_ % 8 != 0) {
    // one message has one encoding; also keeps the gaps free for later versions
    if (u8() != 0) ok_ = false;
  }
}

}  // namespace ob::wire
