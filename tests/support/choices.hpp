#pragma once
// Decisions that a string of bytes makes: those of a fuzzer, or of a random generator.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace ob::test {

/// Takes decisions from bytes, one after another. After their end all bytes are zero.
class Choices {
 public:
  explicit Choices(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool empty() const noexcept { return bytes_.empty(); }
  std::uint64_t word() noexcept { return take<std::uint64_t>(); }
  /// Returns a number below `count`.   @pre 0 < count <= 2^16
  std::size_t below(std::size_t count) noexcept { return take<std::uint16_t>() % count; }
  /// Returns true `hits` times of 256.
  bool chance(unsigned hits) noexcept { return take<std::uint8_t>() < hits; }
  template <class T, std::size_t count>
  const T& of(const T (&values)[count]) noexcept {
    return values[below(count)];
  }

 private:
  template <class T>
  T take() noexcept {
    T value{};
    const std::size_t size = std::min(sizeof value, bytes_.size());
    if (size > 0) std::memcpy(&value, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
    return value;
  }

  std::span<const std::byte> bytes_;
};

}  // namespace ob::test
