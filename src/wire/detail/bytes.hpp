#pragma once
// Little-endian integers byte by byte: right on every host, and one plain move on little-endian
// ones. Folds, not loops: gcc 12 merges the bytes of an unrolled sequence at -O2, but does not
// unroll a loop of eight.

#include <cstddef>
#include <type_traits>
#include <utility>

namespace ob::wire::detail {

template <class T, std::size_t... I>
void store_bytes(std::byte* out, T value, std::index_sequence<I...>) noexcept {
  ((out[I] = static_cast<std::byte>(value >> (8 * I))), ...);
}

template <class T, std::size_t... I>
T load_bytes(const std::byte* in, std::index_sequence<I...>) noexcept {
  return static_cast<T>((... | static_cast<T>(static_cast<T>(in[I]) << (8 * I))));
}

/// @pre sizeof(T) bytes are writable at `out`
template <class T>
void store(std::byte* out, T value) noexcept {
  static_assert(std::is_unsigned_v<T>);
  store_bytes(out, value, std::make_index_sequence<sizeof(T)>());
}

/// @pre sizeof(T) bytes are readable at `in`
template <class T>
T load(const std::byte* in) noexcept {
  static_assert(std::is_unsigned_v<T>);
  return load_bytes<T>(in, std::make_index_sequence<sizeof(T)>());
}

}  // namespace ob::wire::detail
