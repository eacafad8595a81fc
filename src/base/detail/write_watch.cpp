#include "base/detail/write_watch.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <new>
#include <string_view>

#include "base/contract.hpp"
#include "base/detail/linux_pages.hpp"

namespace ob::detail {
namespace {

constexpr std::size_t kRegionsPerScan = 256;  // 6 KiB of stack
constexpr std::size_t kReadBytes = 64 << 10;  // some 600 mappings

Status unsupported(const char* what) {
  return {Code::unsupported, std::string(what) + " (" + std::strerror(errno) + ")"};
}

Fd open_own(const char* path) noexcept {
  return out_of_the_way(Fd(::open(path, O_RDONLY | O_CLOEXEC)));
}

// Example of a line: "7f00-7f80 rw-p 00000000 00:00 0   [heap]". Anonymous memory has inode 0 and
// no name, or one of those below. Stacks are left out because they move their own bounds.
bool is_suitable(std::string_view permissions, std::string_view inode, std::string_view name) {
  return permissions.starts_with("rw") && permissions.ends_with("p") && inode == "0" &&
         (name.empty() || name == "[heap]" || name.starts_with("[anon:"));
}

std::string_view next_field(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view field = line.substr(0, line.find(' '));
  line.remove_prefix(field.size());
  return field;
}

bool parse_range(std::string_view text, AddressRange& range) {
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, range.begin, 16);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') return false;
  return std::from_chars(first.ptr + 1, end, range.end, 16).ec == std::errc();
}

kernel::PageScan scan_of(AddressRange range, kernel::PageRegion* found,
                         std::size_t count) noexcept {
  kernel::PageScan scan{};
  scan.size = sizeof scan;
  scan.start = range.begin;
  scan.end = range.end;
  scan.vec = reinterpret_cast<std::uintptr_t>(found);
  scan.vec_len = count;
  scan.category_mask = kernel::kPageWpAllowed | kernel::kPageWritten;
  scan.category_inverted = kernel::kPageWritten;
  scan.category_anyof_mask = kernel::kPagePresent | kernel::kPageSwapped;
  scan.return_mask = kernel::kPageWpAllowed;
  return scan;
}

}  // namespace

// --- descriptors ---------------------------------------------------------------------------------

CheckedFd::CheckedFd(Fd fd) noexcept : fd_(std::move(fd)) {
  struct stat file {};
  if (!fd_ || ::fstat(fd_.get(), &file) != 0) return;
  device_ = file.st_dev;
  inode_ = file.st_ino;
}

CheckedFd& CheckedFd::operator=(CheckedFd&& other) noexcept {
  close();
  fd_ = std::move(other.fd_);
  device_ = other.device_;
  inode_ = other.inode_;
  return *this;
}

bool CheckedFd::intact() const noexcept {
  struct stat file {};
  return fd_ && ::fstat(fd_.get(), &file) == 0 && file.st_dev == device_ && file.st_ino == inode_;
}

void CheckedFd::close() noexcept {
  const bool ours = intact();
  const int fd = fd_.release();
  if (ours) ::close(fd);
}

// --- the watch -----------------------------------------------------------------------------------

Result<std::unique_ptr<WriteWatch>> WriteWatch::open() {
  std::unique_ptr<WriteWatch> watch(new WriteWatch);
  OB_RETURN_IF_ERROR(watch->start());
  return watch;
}

Status WriteWatch::start() {
  page_bytes_ = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  void* const page =
      ::mmap(nullptr, page_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return unsupported("no memory for a mark");
  mark_ = new (page) std::atomic<std::uint32_t>(1);
  if (::madvise(page, page_bytes_, kernel::kWipeOnFork) != 0)
    return unsupported("no MADV_WIPEONFORK");

  Fd faults(
      static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | kernel::kUserModeOnly)));
  if (!faults) return unsupported("no userfaultfd");
  kernel::Api api{kernel::kApi, kernel::kFeatureWpAsync | kernel::kFeatureWpUnpopulated, 0};
  if (::ioctl(faults.get(), kernel::kIoctlApi, &api) != 0) {
    return unsupported("userfaultfd without asynchronous write protection, which Linux 6.7 has");
  }
  faults_ = CheckedFd(out_of_the_way(std::move(faults)));
  pages_ = CheckedFd(open_own("/proc/self/pagemap"));
  if (!pages_) return unsupported("no /proc/self/pagemap");
  maps_ = CheckedFd(open_own("/proc/self/maps"));
  if (!maps_) return unsupported("no /proc/self/maps");
  const std::uintptr_t mark = reinterpret_cast<std::uintptr_t>(page);
  kernel::PageScan scan = scan_of({mark, mark + page_bytes_}, nullptr, 0);
  if (::ioctl(pages_.get(), kernel::kIoctlPageScan, &scan) < 0) {
    return unsupported("no PAGEMAP_SCAN, which Linux 6.7 has");
  }
  return {};
}

WriteWatch::~WriteWatch() {
  if (mark_ != nullptr) ::munmap(mark_, page_bytes_);
}

bool WriteWatch::inherited() const noexcept { return mark_->load(std::memory_order_relaxed) == 0; }

bool WriteWatch::intact() const noexcept {
  return faults_.intact() && pages_.intact() && maps_.intact();
}

void WriteWatch::close_inherited() noexcept {
  if (!inherited()) return;
  for (CheckedFd* fd : {&faults_, &pages_, &maps_}) fd->close();
}

// A page counts as unwritten only if the kernel reports three things: its mapping is watched, the
// page exists (in memory, on swap, or as a marker that it was protected before it had memory), and
// it is protected. The result never depends on reports about pages that no longer exist.
void WriteWatch::unwritten(AddressRange range, std::size_t most,
                           std::vector<AddressRange>& runs) const {
  runs.clear();
  std::array<kernel::PageRegion, kRegionsPerScan> found;
  std::uintptr_t at = range.begin;
  while (at < range.end && runs.size() < most) {
    kernel::PageScan scan = scan_of({at, range.end}, found.data(), found.size());
    const int count = ::ioctl(pages_.get(), kernel::kIoctlPageScan, &scan);
    if (count < 0 || scan.walk_end <= at) return;
    for (int i = 0; i < count && runs.size() < most; ++i) {
      const kernel::PageRegion& run = found[static_cast<std::size_t>(i)];
      if (!runs.empty() && runs.back().end == run.start) {
        runs.back().end = run.end;
      } else {
        runs.push_back({run.start, run.end});
      }
    }
    at = scan.walk_end;
  }
}

bool WriteWatch::owns(AddressRange range) const noexcept {
  kernel::Register request{range.begin, range.end - range.begin, kernel::kRegisterModeWp, 0};
  return ::ioctl(faults_.get(), kernel::kIoctlRegister, &request) == 0;
}

bool WriteWatch::watched(std::uintptr_t page) const noexcept {
  kernel::PageRegion found{};
  kernel::PageScan scan = scan_of({page, page + page_bytes_}, &found, 1);
  scan.category_mask = kernel::kPageWpAllowed;
  scan.category_inverted = scan.category_anyof_mask = 0;
  return ::ioctl(pages_.get(), kernel::kIoctlPageScan, &scan) > 0;
}

bool WriteWatch::read_mappings() {
  mappings_.clear();
  text_.clear();
  for (;;) {
    const std::size_t length = text_.size();
    text_.resize(length + kReadBytes);
    const ssize_t got =
        ::pread(maps_.get(), text_.data() + length, kReadBytes, static_cast<off_t>(length));
    text_.resize(length + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got < 0 && errno != EINTR) return false;
    if (got == 0) break;
  }
  for (std::string_view rest = text_; !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    Mapping mapping{};
    if (!parse_range(next_field(line), mapping.range)) return false;
    const std::string_view permissions = next_field(line);
    (void)next_field(line);  // offset
    (void)next_field(line);  // device
    const std::string_view inode = next_field(line);
    mapping.suitable = is_suitable(permissions, inode, next_field(line));
    mappings_.push_back(mapping);
  }
  return true;
}

bool WriteWatch::protect(AddressRange range, std::vector<AddressRange>& fresh) {
  OB_EXPECT(has_mappings());
  auto at = std::partition_point(mappings_.begin(), mappings_.end(),
                                 [&](const Mapping& m) { return m.range.end <= range.begin; });
  std::uintptr_t covered = range.begin;
  for (; covered < range.end; ++at) {
    if (at == mappings_.end() || at->range.begin > covered || !at->suitable) return false;
    if (!watched(at->range.begin)) fresh.push_back(at->range);
    // Watch the whole mapping: one mremap() could not move a mapping that was cut in two.
    if (!owns(at->range)) return false;
    covered = at->range.end;
  }
  kernel::WriteProtect request{range.begin, range.end - range.begin, kernel::kWriteProtectModeWp};
  return ::ioctl(faults_.get(), kernel::kIoctlWriteProtect, &request) == 0;
}

}  // namespace ob::detail
