#pragma once
// Addresses of devices, which this process cannot follow.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace standin {

/// Two large ranges of addresses: programs see those of the first, where nothing is; the bytes lie
/// at the same distance in the second. So a program that follows a device's pointer crashes, as
/// with a device, and an address is not used again for very long, so that late uses are found.
/// Memory: pages are taken as they are touched   Threads: any
class AddressSpace {
 public:
  static AddressSpace& instance();

  /// `bytes` that are NaN, read as any type, aligned to 256 bytes and no more. 0 if the machine has
  /// no room.
  std::uintptr_t take(std::size_t bytes);
  /// @pre from take(), with its size
  /// @return false if bytes beside the range were written
  bool give_back(std::uintptr_t address, std::size_t bytes);

  bool inside(const void* p) const noexcept {
    return reinterpret_cast<std::uintptr_t>(p) - seen_ < size_;
  }
  /// Where the bytes of an address are.   @pre inside(p)
  std::byte* backing(const void* p) const noexcept {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(p) - seen_ + hidden_);
  }

 private:
  AddressSpace();
  std::mutex mutex_;
  std::uintptr_t seen_ = 0;
  std::uintptr_t hidden_ = 0;
  std::size_t size_ = 0;
  std::size_t next_ = 0;                      // offset behind what was taken last
  std::map<std::size_t, std::size_t> taken_;  // offset and length, in pages' bytes
};

/// Maps NaN over whole pages; large ranges share a file until they are written.
/// @return false if the machine has no room
bool map_poison(std::byte* at, std::size_t bytes);

}  // namespace standin
