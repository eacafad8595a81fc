#pragma once
// A Reader that records the wrong field, so that a refusal can name message and field.

#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "base/status.hpp"
#include "wire/codec.hpp"

namespace ob::wire {

/// Reads the fields of one body in order; the first failure wins and finish() reports it.
/// Memory: `message` is a literal; allocates only on failure.   Threads: owner only
class Fields {
 public:
  Fields(const char* message, std::span<const std::byte> body) noexcept
      : message_(message), body_bytes_(body.size()), reader_(body) {}

  std::uint8_t u8(std::string_view field) { return checked(field, reader_.u8()); }
  std::uint16_t u16(std::string_view field) { return checked(field, reader_.u16()); }
  std::uint32_t u32(std::string_view field) { return checked(field, reader_.u32()); }
  std::uint64_t u64(std::string_view field) { return checked(field, reader_.u64()); }
  std::int64_t i64(std::string_view field) { return static_cast<std::int64_t>(u64(field)); }
  double f64(std::string_view field) { return checked(field, reader_.f64()); }
  std::string_view text(std::string_view field, std::size_t max_bytes) {
    return checked(field, reader_.text(max_bytes));
  }
  template <class IdType>
  IdType id(std::string_view field) {
    return IdType{u64(field)};
  }
  /// Zeros up to the next multiple of 8.
  void padding() {
    reader_.skip_pad_to_8();
    checked("padding", 0);
  }
  /// A u8 that is 0 or 1.
  bool flag(std::string_view field) { return up_to(field, std::uint8_t{1}) != 0; }
  /// A u8 enumerator from 0 to `last`.
  template <class Enum>
  Enum up_to(std::string_view field, Enum last) {
    const std::uint8_t value = u8(field);
    if (value <= static_cast<std::uint8_t>(last)) return static_cast<Enum>(value);
    refuse(field, "is " + std::to_string(value) + " (the largest known value is " +
                      std::to_string(static_cast<std::uint8_t>(last)) + ")");
    return Enum{};
  }

  /// Fails the message because of `field`, unless it has failed already.
  void refuse(std::string_view field, const std::string& why);
  bool ok() const noexcept { return problem_.empty(); }
  /// Errors: protocol_error if a field was refused or cut off, or bytes follow the last one.
  Status finish();

 private:
  template <class T>
  T checked(std::string_view field, T value) {
    if (!reader_.ok() && ok()) refuse_unreadable(field);
    return value;
  }
  void refuse_unreadable(std::string_view field);

  const char* message_;
  std::size_t body_bytes_;
  Reader reader_;
  std::string problem_;
};

}  // namespace ob::wire
