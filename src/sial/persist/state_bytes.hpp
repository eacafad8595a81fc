#pragma once
// The variables of a worker as the bytes of a file with a checksum.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <type_traits>
#include <vector>

#include "base/status.hpp"

namespace ob::sial {

template <class T>
concept PlainValue = std::is_trivially_copyable_v<T>;

/// Appends values as they lie in memory: a run goes on with the same program on the same processor.
class StateWriter {
 public:
  template <PlainValue T>
  void put(const T& value) {
    append(&value, sizeof value);
  }
  template <PlainValue T>
  void put(const std::vector<T>& values) {
    put<std::uint64_t>(values.size());
    append(values.data(), values.size() * sizeof(T));
  }
  void put(const std::string& text) {
    put<std::uint64_t>(text.size());
    append(text.data(), text.size());
  }
  /// Writes the file, and waits until the disk has it.
  /// Errors: unavailable, with the file's name and the reason
  Status write(const std::filesystem::path& path) const;

 private:
  void append(const void* source, std::size_t bytes) {
    const auto* first = static_cast<const std::byte*>(source);
    bytes_.insert(bytes_.end(), first, first + bytes);
  }

  std::vector<std::byte> bytes_;
};

/// Takes values in the order in which they were put.
class StateReader {
 public:
  /// Reads a file and compares its checksum.
  /// Errors: invalid_argument if the file cannot be read or is damaged
  static Result<StateReader> open(const std::filesystem::path& path);

  template <PlainValue T>
  void take(T& value) {
    copy(&value, sizeof value);
  }
  template <PlainValue T>
  void take(std::vector<T>& values) {
    values.resize(take_count(sizeof(T)));
    copy(values.data(), values.size() * sizeof(T));
  }
  void take(std::string& text) {
    text.resize(take_count(1));
    copy(text.data(), text.size());
  }
  template <PlainValue T>
  T take() {
    T value{};
    take(value);
    return value;
  }
  /// Returns a number of items that follow. 0 if the file is too short for them.
  std::size_t take_count(std::size_t item_bytes) {
    const auto count = take<std::uint64_t>();
    good_ = good_ && count <= (bytes_.size() - at_) / item_bytes;
    return good_ ? static_cast<std::size_t>(count) : 0;
  }
  /// False if more was taken than was put.
  bool good() const noexcept { return good_; }

 private:
  explicit StateReader(std::vector<std::byte> bytes, std::size_t at)
      : bytes_(std::move(bytes)), at_(at) {}
  void copy(void* target, std::size_t bytes) {
    good_ = good_ && bytes <= bytes_.size() - at_;
    if (!good_ || bytes == 0) return;
    std::memcpy(target, bytes_.data() + at_, bytes);
    at_ += bytes;
  }

  std::vector<std::byte> bytes_;
  std::size_t at_ = 0;
  bool good_ = true;
};

}  // namespace ob::sial
