#pragma once
// The kernel's word on which pages were written: userfaultfd's asynchronous write protection and
// the PAGEMAP_SCAN ioctl of Linux 6.7.

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/address_range.hpp"
#include "base/fd.hpp"
#include "base/status.hpp"

namespace ob::detail {

/// A descriptor of ours in a process that may close all descriptors at any time and get the number
/// again for a file of its own.
class KeptFd {
 public:
  KeptFd() = default;
  explicit KeptFd(Fd fd) noexcept;
  KeptFd(KeptFd&&) = default;
  KeptFd& operator=(KeptFd&& other) noexcept;
  ~KeptFd() { close(); }

  int get() const noexcept { return fd_.get(); }
  explicit operator bool() const noexcept { return static_cast<bool>(fd_); }
  /// The number still is the file it was.
  bool intact() const noexcept;
  /// Closes the file if it is ours.   Threads: async-signal-safe
  void close() noexcept;

 private:
  Fd fd_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

/// Write protection that the kernel lifts by itself at the first write to a page, which is how it
/// remembers that there was one. Ranges are whole pages.
/// Threads: one at a time
class WriteWatch {
 public:
  /// Errors: unsupported if the kernel cannot, or does not let this process
  static Result<std::unique_ptr<WriteWatch>> open();
  ~WriteWatch();
  WriteWatch(const WriteWatch&) = delete;
  WriteWatch& operator=(const WriteWatch&) = delete;

  std::uintptr_t page_bytes() const noexcept { return page_bytes_; }
  /// In a child of the process that opened it: every call would mean the parent's memory.
  bool inherited() const noexcept;
  /// The program did not close the descriptors.
  bool intact() const noexcept;
  /// Gives up, in a child, what it inherited.   Threads: async-signal-safe
  void close_inherited() noexcept;

  /// Pages of the range that are protected, in order: nobody wrote them since protect() did that.
  /// What lies behind the first `most` runs is left out; and so is everything that the kernel does
  /// not vouch for: mappings that are not watched or not there, pages without memory.
  void unwritten(AddressRange range, std::size_t most, std::vector<AddressRange>& runs) const;
  /// True if all mappings of the range are watched by this watch and nobody else. Those that nobody
  /// watches are watched from now on, of whatever kind they are.
  bool owns(AddressRange range) const noexcept;

  /// Reads what is mapped where, for protect().
  bool read_mappings();
  /// Protects all pages of the range, if it is private anonymous memory that may be written.
  /// @param fresh gets mappings that nobody watched before, whole: what was known of them is void
  /// @pre read_mappings() was true, lately
  bool protect(AddressRange range, std::vector<AddressRange>& fresh);

 private:
  struct Mapping {
    AddressRange range;
    bool suitable;
  };

  WriteWatch() = default;
  Status start();
  bool watched(std::uintptr_t page) const noexcept;

  KeptFd faults_;
  KeptFd pages_;
  KeptFd maps_;
  std::uintptr_t page_bytes_ = 0;
  std::atomic<std::uint32_t>* mark_ = nullptr;  // in memory that a child finds empty
  std::vector<Mapping> mappings_;
  std::string text_;
};

}  // namespace ob::detail
