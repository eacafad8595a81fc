#include "wire/codec.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "wire/detail/bytes.hpp"

namespace ob::wire {
namespace {

using detail::load;
using detail::store;

// Appends one integer. A body that overflows is a bug of this program (every text is cut to its
// limit, and the largest message is a third of kMaxBodyBytes); in release builds the excess is
// dropped rather than written.
template <class T>
void append(std::span<std::byte> room, std::size_t& size, T value) noexcept {
  assert(size + sizeof(T) <= room.size());
  if (size + sizeof(T) > room.size()) return;
  store(room.data() + size, value);
  size += sizeof(T);
}

// Takes one integer; on failure returns 0 and clears ok for good.
template <class T>
T take(std::span<const std::byte> bytes, std::size_t& at, bool& ok) noexcept {
  if (!ok || bytes.size() - at < sizeof(T)) {
    ok = false;
    return 0;
  }
  const T value = load<T>(bytes.data() + at);
  at += sizeof(T);
  return value;
}

}  // namespace

void Body::u8(std::uint8_t v) noexcept { append(data_, size_, v); }
void Body::u16(std::uint16_t v) noexcept { append(data_, size_, v); }
void Body::u32(std::uint32_t v) noexcept { append(data_, size_, v); }
void Body::u64(std::uint64_t v) noexcept { append(data_, size_, v); }
void Body::f64(double v) noexcept { append(data_, size_, std::bit_cast<std::uint64_t>(v)); }

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

std::uint8_t Reader::u8() noexcept { return take<std::uint8_t>(bytes_, at_, ok_); }
std::uint16_t Reader::u16() noexcept { return take<std::uint16_t>(bytes_, at_, ok_); }
std::uint32_t Reader::u32() noexcept { return take<std::uint32_t>(bytes_, at_, ok_); }
std::uint64_t Reader::u64() noexcept { return take<std::uint64_t>(bytes_, at_, ok_); }
double Reader::f64() noexcept { return std::bit_cast<double>(u64()); }

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
