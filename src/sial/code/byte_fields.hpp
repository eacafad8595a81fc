#pragma once
// Fields of little-endian records.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ob::sial {

/// Returns the unsigned number of `sizeof(T)` bytes at `offset`.
/// @pre offset + sizeof(T) <= bytes.size()
template <class T>
T unsigned_at(std::span<const std::byte> bytes, std::size_t offset) noexcept {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<T>(static_cast<T>(bytes[offset + i]) << (8 * i));
  return value;
}

inline std::uint8_t u8_at(std::span<const std::byte> bytes, std::size_t offset) noexcept {
  return static_cast<std::uint8_t>(bytes[offset]);
}
inline std::uint16_t u16_at(std::span<const std::byte> bytes, std::size_t offset) noexcept {
  return unsigned_at<std::uint16_t>(bytes, offset);
}
inline std::uint32_t u32_at(std::span<const std::byte> bytes, std::size_t offset) noexcept {
  return unsigned_at<std::uint32_t>(bytes, offset);
}
inline std::uint64_t u64_at(std::span<const std::byte> bytes, std::size_t offset) noexcept {
  return unsigned_at<std::uint64_t>(bytes, offset);
}
inline std::int64_t i64_at(std::span<const std::byte> bytes, std::size_t offset) noexcept {
  return static_cast<std::int64_t>(u64_at(bytes, offset));
}
inline double f64_at(std::span<const std::byte> bytes, std::size_t offset) noexcept {
  return std::bit_cast<double>(u64_at(bytes, offset));
}

}  // namespace ob::sial
