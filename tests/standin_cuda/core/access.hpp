#pragma once
// The operands of one call: checks them, finds their bytes, and records them for the race search.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "region.hpp"

namespace standin {

/// The way in which a library call may use an operand.
enum class Intent { read, write };

/// Requires that every address of a call lies, with its whole extent, in one live block of memory
/// that the device can reach. Threads: the calling thread only
class Access {
 public:
  /// @param call a literal: the function, for reports
  /// @param pinned true if page-locked host memory is allowed, too
  Access(const char* call, int device, bool pinned = false)
      : call_(call), device_(device), pinned_(pinned) {}

  /// Checks `height` pieces of `width` bytes, `pitch` bytes apart, aligned to `alignment`.
  /// @return where the bytes are; nullptr if there are none or if the address is not allowed
  std::byte* region(const void* p, std::size_t width, std::size_t pitch, std::size_t height,
                    Intent intent, std::size_t alignment = 1);

  template <class T>
  const T* in(const T* p, std::int64_t count) {
    return reinterpret_cast<const T*>(span<T>(p, count, Intent::read));
  }
  template <class T>
  T* out(T* p, std::int64_t count) {
    return reinterpret_cast<T*>(span<T>(p, count, Intent::write));
  }
  /// Checks a column-major matrix.
  template <class T>
  const T* in(const T* p, std::int64_t rows, std::int64_t cols, std::int64_t ld) {
    return reinterpret_cast<const T*>(matrix<T>(p, rows, cols, ld, Intent::read));
  }
  template <class T>
  T* out(T* p, std::int64_t rows, std::int64_t cols, std::int64_t ld) {
    return reinterpret_cast<T*>(matrix<T>(p, rows, cols, ld, Intent::write));
  }
  /// Checks a vector with a stride, which may be negative.
  template <class T>
  const T* in_vector(const T* p, std::int64_t n, std::int64_t inc) {
    return reinterpret_cast<const T*>(matrix<T>(p, 1, n, inc < 0 ? -inc : inc, Intent::read));
  }
  template <class T>
  T* out_vector(T* p, std::int64_t n, std::int64_t inc) {
    return reinterpret_cast<T*>(matrix<T>(p, 1, n, inc < 0 ? -inc : inc, Intent::write));
  }

  /// Returns false if a rule was broken; the broken rule has been reported.
  bool ok() const noexcept { return ok_; }
  /// Reports a broken rule.
  void refuse(const std::string& what);

  /// Adds the operands of `other`.
  void join(const Access& other) {
    uses_.insert(uses_.end(), other.uses_.begin(), other.uses_.end());
  }

  const char* call() const noexcept { return call_; }
  const std::vector<Use>& uses() const noexcept { return uses_; }

 private:
  template <class T>
  std::byte* span(const void* p, std::int64_t count, Intent intent) {
    const std::size_t bytes = count <= 0 ? 0 : static_cast<std::size_t>(count) * sizeof(T);
    return region(p, bytes, bytes, bytes == 0 ? 0 : 1, intent, alignof(T));
  }
  template <class T>
  std::byte* matrix(const void* p, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                    Intent intent) {
    if (rows <= 0 || cols <= 0) return nullptr;
    return region(p, rows * sizeof(T), ld * sizeof(T), cols, intent, alignof(T));
  }

  const char* const call_;
  const int device_;
  const bool pinned_;
  bool ok_ = true;
  std::vector<Use> uses_;
};

}  // namespace standin
