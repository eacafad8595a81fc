#pragma once
// Addresses of devices, which the program under test cannot dereference.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace standin {

/// Reserves two large ranges of addresses. Programs get addresses of the first range, where nothing
/// is mapped; the bytes lie at the same distance in the second range. A program that dereferences a
/// device pointer crashes, as it does with a real device. An address is not used again for a long
/// time, so that late uses are found.
/// Memory: pages are allocated when they are touched   Threads: any
class AddressSpace {
 public:
  static AddressSpace& instance();

  /// Allocates `bytes` that are NaN when read as any type, aligned to exactly 256 bytes. Returns 0
  /// if the machine has no room.
  std::uintptr_t take(std::size_t bytes);
  /// @pre take() returned the address, for this size
  /// @return false if bytes beside the range were written
  bool give_back(std::uintptr_t address, std::size_t bytes);

  bool inside(const void* p) const noexcept {
    return reinterpret_cast<std::uintptr_t>(p) - seen_ < size_;
  }
  /// Returns the place of the bytes of an address.   @pre inside(p)
  std::byte* backing(const void* p) const noexcept {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(p) - seen_ + hidden_);
  }

 private:
  AddressSpace();
  std::mutex mutex_;
  std::uintptr_t seen_ = 0;
  std::uintptr_t hidden_ = 0;
  std::size_t size_ = 0;
  std::size_t next_ = 0;                      // offset behind the last range taken
  std::map<std::size_t, std::size_t> taken_;  // offset and length, in pages' bytes
};

/// Maps NaN over whole pages. Large ranges share a file until they are written.
/// @return false if the machine has no room
bool map_poison(std::byte* at, std::size_t bytes);

}  // namespace standin
