#pragma once
// Memory of a program whose pages a test watches.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "base/page_tracker.hpp"

namespace ob::test {

inline const std::size_t kPage = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

/// A mapping of its own, between pages that cannot be accessed, so that neighbouring memory never
/// merges with it.
class Mapping {
 public:
  explicit Mapping(std::size_t size_bytes, int flags = MAP_PRIVATE | MAP_ANONYMOUS, int fd = -1)
      : size_bytes_(size_bytes), around_bytes_(size_bytes + 2 * kAlignment) {
    void* const around =
        mmap(nullptr, around_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(around, MAP_FAILED);
    around_ = static_cast<std::byte*>(around);
    const auto address = reinterpret_cast<std::uintptr_t>(around);
    data_ = around_ + (kAlignment - address % kAlignment);
    map(flags, fd);
  }
  ~Mapping() { munmap(around_, around_bytes_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  /// Maps other memory at the same addresses.
  void map(int flags = MAP_PRIVATE | MAP_ANONYMOUS, int fd = -1) {
    ASSERT_EQ(mmap(data_, size_bytes_, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0), data_);
  }

  std::byte* data() const { return data_; }
  std::byte* page(std::size_t n) const { return data_ + n * kPage; }
  std::size_t size() const { return size_bytes_; }
  AddressRange range(std::size_t from, std::size_t bytes) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(data_) + from;
    return {begin, begin + bytes};
  }
  AddressRange all() const { return range(0, size_bytes_); }
  AddressRange pages(std::size_t first, std::size_t count) const {
    return range(first * kPage, count * kPage);
  }

 private:
  static constexpr std::size_t kAlignment = 2 << 20;  // of a huge page
  std::size_t size_bytes_;
  std::size_t around_bytes_;
  std::byte* around_;
  std::byte* data_;
};

/// Returns true if pages can be tracked here. Otherwise prints the reason, and checks that the
/// kernel really lacks a feature and that no memory counts as unwritten.
inline bool tracks(PageTracker& tracker) {
  if (tracker.available()) return true;
  std::printf("no page tracking here: %s\n", tracker.why_not().c_str());
  utsname system{};
  uname(&system);
  int major = 0;
  int minor = 0;
  std::sscanf(system.release, "%d.%d", &major, &minor);
  const long faults = syscall(SYS_userfaultfd, 1 /* user mode only */);
  const bool lacks = major < 6 || (major == 6 && minor < 7) || faults < 0 ||
                     access("/proc/self/pagemap", R_OK) != 0;
  if (faults >= 0) close(static_cast<int>(faults));
  EXPECT_TRUE(lacks) << "this kernel has all it takes";
  const Mapping memory(4 * kPage);
  const AddressRange all = memory.all();
  EXPECT_EQ(tracker.arm({&all, 1}), 0u);
  EXPECT_FALSE(tracker.look(all).unwritten(all, ~PageTracker::Epoch{0}));
  return false;
}

}  // namespace ob::test
