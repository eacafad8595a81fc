#include "device/host_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace ob {
namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kHugePageBytes = 2 << 20;
// Larger than any machine's address space, and small enough that rounding cannot overflow.
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 46;

Status failure(const char* step, std::uint64_t size_bytes) {
  const int error = errno;
  std::string message = "cannot " + std::string(step) + " a memory file of " +
                        std::to_string(size_bytes) + " bytes (" + std::strerror(error) + ")";
  if (error == EMFILE || error == ENFILE) message += "; raise the limit of open files (ulimit -n)";
  return {Code::out_of_memory, std::move(message)};
}

}  // namespace

// Rounds up to whole pages, or to whole huge pages for large segments, so that the last page can be
// huge, too.
std::uint64_t HostSegment::bytes_for(std::uint64_t wanted_bytes) noexcept {
  const std::uint64_t unit = wanted_bytes >= kHugePageBytes ? kHugePageBytes : kPageBytes;
  if (wanted_bytes > kMaxBytes) return kMaxBytes;
  return wanted_bytes == 0 ? unit : (wanted_bytes + unit - 1) / unit * unit;
}

Result<std::shared_ptr<HostSegment>> HostSegment::create(std::uint64_t wanted_bytes) {
  if (wanted_bytes > kMaxBytes) {
    errno = EFBIG;
    return failure("make", wanted_bytes);
  }
  std::shared_ptr<HostSegment> segment(new HostSegment);
  segment->size_bytes_ = bytes_for(wanted_bytes);
  segment->fd_.reset(memfd_create("outboard-buffer", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!segment->fd_) return failure("make", wanted_bytes);
  if (ftruncate(segment->fd(), static_cast<off_t>(segment->size_bytes_)) != 0) {
    return failure("size", wanted_bytes);
  }
  // A client that maps the file must not be able to cut it: touching the lost part would kill this
  // process.
  if (fcntl(segment->fd(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return failure("seal", wanted_bytes);
  }
  if (Status status = segment->map(); !status.ok()) return status;
  // Errors are ignored: without huge pages the segment works, but more slowly.
  if (segment->size_bytes_ >= kHugePageBytes) {
    (void)madvise(segment->data_, segment->size_bytes_, MADV_HUGEPAGE);
  }
  return segment;
}

Result<std::shared_ptr<HostSegment>> HostSegment::share(Fd fd, std::uint64_t size_bytes) {
  std::shared_ptr<HostSegment> segment(new HostSegment);
  segment->fd_ = std::move(fd);
  segment->size_bytes_ = size_bytes;
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;
  if (size_bytes == 0 || size_bytes > kMaxBytes ||
      lseek(segment->fd(), 0, SEEK_END) < static_cast<off_t>(size_bytes) ||
      (fcntl(segment->fd(), F_GET_SEALS) & kSeals) != kSeals) {
    return Status(Code::invalid_argument,
                  "a descriptor is no segment of " + std::to_string(size_bytes) + " bytes");
  }
  if (Status status = segment->map(); !status.ok()) return status;
  segment->fd_.reset();  // the mapping keeps the file
  return segment;
}

void HostSegment::note(std::optional<Mapped>& place, Mapped mapped) {
  std::optional<Mapped> before;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  before = std::exchange(place, std::move(mapped));
}

void HostSegment::map_for(const Account& owner, std::uint64_t process,
                          std::shared_ptr<const void> mapping) {
  note(mapped_, {owner, process, std::move(mapping)});
}

void HostSegment::map_for_kernels(const Account& owner, std::uint64_t process,
                                  std::shared_ptr<const void> mapping) {
  note(mapped_for_kernels_, {owner, process, std::move(mapping)});
}

std::shared_ptr<const void> HostSegment::kernel_mapping_of(std::uint64_t process) const {
  const std::lock_guard lock(mutex_);
  const auto& mapped = mapped_for_kernels_;
  return mapped && mapped->process == process ? mapped->mapping : nullptr;
}

std::shared_ptr<const void> HostSegment::mapping_of(std::uint64_t process) const {
  const std::lock_guard lock(mutex_);
  return mapped_ && mapped_->process == process ? mapped_->mapping : nullptr;
}

bool HostSegment::may_serve(const Account& owner) const {
  const std::lock_guard lock(mutex_);
  const auto serves = [&](const std::optional<Mapped>& mapped) {
    if (!mapped) return true;
    const Account& only = mapped->owner;
    return only.user == owner.user && (!only.session || only.session == owner.session);
  };
  return serves(mapped_) && serves(mapped_for_kernels_);
}

// Reserves address space for segment and guards, then maps the file in its middle.
Status HostSegment::map() {
  // Large segments keep the alignment that huge pages need.
  const std::uint64_t guard = size_bytes_ >= kHugePageBytes ? kHugePageBytes : kGuardBytes;
  reserved_bytes_ = size_bytes_ + 2 * guard;
  void* around = mmap(nullptr, reserved_bytes_, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (around == MAP_FAILED) return failure("map", size_bytes_);
  reserved_ = static_cast<std::byte*>(around);
  void* at =
      mmap(reserved_ + guard, size_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd(), 0);
  if (at == MAP_FAILED) return failure("map", size_bytes_);
  data_ = static_cast<std::byte*>(at);
  return {};
}

void HostSegment::drop(std::uint64_t offset_bytes, std::uint64_t size_bytes) noexcept {
  const int failed = fallocate(fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                               static_cast<off_t>(offset_bytes), static_cast<off_t>(size_bytes));
  if (failed != 0) std::memset(data_ + offset_bytes, 0, size_bytes);
}

HostSegment::~HostSegment() {
  // A process that still has the file mapped must not keep the memory in use.
  if ((mapped_ || mapped_for_kernels_) && !exported() && fd_) {
    (void)fallocate(fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                    static_cast<off_t>(size_bytes_));
  }
  if (reserved_ != nullptr) munmap(reserved_, reserved_bytes_);
}

}  // namespace ob
