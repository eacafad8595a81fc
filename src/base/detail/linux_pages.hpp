#pragma once
// Definitions from <linux/userfaultfd.h> and <linux/fs.h> of Linux 6.7. The headers of a build
// machine may be older than the kernel that the program runs on.
// Source: Linux UAPI, userfaultfd(2), ioctl_userfaultfd(2), PAGEMAP_SCAN(2const)

#include <sys/ioctl.h>

#include <cstdint>

namespace ob::detail::kernel {

constexpr int kWipeOnFork = 18;   // MADV_WIPEONFORK
constexpr int kUserModeOnly = 1;  // UFFD_USER_MODE_ONLY: allowed for ordinary users
constexpr std::uint64_t kApi = 0xAA;
constexpr std::uint64_t kFeatureWpUnpopulated = 1ULL << 13;
constexpr std::uint64_t kFeatureWpAsync = 1ULL << 15;
constexpr std::uint64_t kRegisterModeWp = 1ULL << 1;
constexpr std::uint64_t kWriteProtectModeWp = 1ULL << 0;

struct Api {
  std::uint64_t api;
  std::uint64_t features;
  std::uint64_t ioctls;
};
struct Register {
  std::uint64_t start;
  std::uint64_t length;
  std::uint64_t mode;
  std::uint64_t ioctls;
};
struct WriteProtect {
  std::uint64_t start;
  std::uint64_t length;
  std::uint64_t mode;
};
constexpr unsigned long kIoctlApi = _IOWR(0xAA, 0x3F, Api);
constexpr unsigned long kIoctlRegister = _IOWR(0xAA, 0x00, Register);
constexpr unsigned long kIoctlWriteProtect = _IOWR(0xAA, 0x06, WriteProtect);

constexpr std::uint64_t kPageWpAllowed = 1ULL << 0;
constexpr std::uint64_t kPageWritten = 1ULL << 1;
constexpr std::uint64_t kPagePresent = 1ULL << 3;
constexpr std::uint64_t kPageSwapped = 1ULL << 4;

struct PageRegion {
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t categories;
};
struct PageScan {
  std::uint64_t size;
  std::uint64_t flags;
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t walk_end;
  std::uint64_t vec;
  std::uint64_t vec_len;
  std::uint64_t max_pages;
  std::uint64_t category_inverted;
  std::uint64_t category_mask;
  std::uint64_t category_anyof_mask;
  std::uint64_t return_mask;
};
constexpr unsigned long kIoctlPageScan = _IOWR('f', 16, PageScan);

}  // namespace ob::detail::kernel
