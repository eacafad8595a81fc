#pragma once
// Detection of written pages by the kernel: userfaultfd's asynchronous write protection and the
// PAGEMAP_SCAN ioctl of Linux 6.7.

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

/// Owns a descriptor in a process that may close it without our knowledge. The program may then get
/// the same number for a file of its own, so the file's identity is checked before use.
class CheckedFd {
 public:
  CheckedFd() = default;
  explicit CheckedFd(Fd fd) noexcept;
  CheckedFd(CheckedFd&&) = default;
  CheckedFd& operator=(CheckedFd&& other) noexcept;
  ~CheckedFd() { close(); }

  int get() const noexcept { return fd_.get(); }
  explicit operator bool() const noexcept { return static_cast<bool>(fd_); }
  /// True if the descriptor still refers to the same file.
  bool intact() const noexcept;
  /// Closes the descriptor if it still refers to our file.   Threads: async-signal-safe
  void close() noexcept;

 private:
  Fd fd_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

/// Write-protects pages. The kernel lifts the protection at the first write to a page, and so
/// remembers that the page was written. Ranges are whole pages.
/// Threads: one at a time
class WriteWatch {
 public:
  /// Errors: unsupported if the kernel lacks the interfaces or this process may not use them
  static Result<std::unique_ptr<WriteWatch>> open();
  ~WriteWatch();
  WriteWatch(const WriteWatch&) = delete;
  WriteWatch& operator=(const WriteWatch&) = delete;

  std::uintptr_t page_bytes() const noexcept { return page_bytes_; }
  /// True in a child of the process that opened the watch: it refers to the parent's memory.
  bool inherited() const noexcept;
  /// True if the program has closed none of the descriptors.
  bool intact() const noexcept;
  /// Closes the inherited descriptors in a child.   Threads: async-signal-safe
  void close_inherited() noexcept;

  /// Lists the runs of protected pages in the range, in order: nobody wrote them since protect().
  /// The list ends after `most` runs. It contains only what the kernel confirms: no absent or
  /// unwatched mappings, and no pages without memory.
  void unwritten(AddressRange range, std::size_t most, std::vector<AddressRange>& runs) const;
  /// True if this watch, and nobody else, watches all mappings of the range. Mappings that nobody
  /// watches are watched from now on, whatever their kind.
  bool owns(AddressRange range) const noexcept;

  /// Reads the mappings of this process, for protect(); false if that fails.
  bool read_mappings();
  /// Protects all pages of the range, if it is private anonymous memory that may be written.
  /// @param fresh receives whole mappings that nobody watched before: earlier findings about them
  /// are void
  /// @pre has_mappings()
  bool protect(AddressRange range, std::vector<AddressRange>& fresh);
  /// True once read_mappings() has succeeded.
  bool has_mappings() const noexcept { return !mappings_.empty(); }

 private:
  struct Mapping {
    AddressRange range;
    bool suitable;
  };

  WriteWatch() = default;
  Status start();
  bool watched(std::uintptr_t page) const noexcept;

  CheckedFd faults_;
  CheckedFd pages_;
  CheckedFd maps_;
  std::uintptr_t page_bytes_ = 0;
  std::atomic<std::uint32_t>* mark_ = nullptr;  // lies in memory that fork() clears in a child
  std::vector<Mapping> mappings_;
  std::string text_;
};

}  // namespace ob::detail
