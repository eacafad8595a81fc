#include "device/host_buffer.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

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

// Rounds up to whole pages, or to whole huge pages for large buffers, so that the last page can be
// huge, too.
std::uint64_t HostBuffer::segment_bytes_for(std::uint64_t size_bytes) noexcept {
  const std::uint64_t unit = size_bytes >= kHugePageBytes ? kHugePageBytes : kPageBytes;
  if (size_bytes > kMaxBytes) return kMaxBytes;
  return size_bytes == 0 ? unit : (size_bytes + unit - 1) / unit * unit;
}

Result<std::shared_ptr<HostBuffer>> HostBuffer::create(std::uint64_t size_bytes) {
  if (size_bytes > kMaxBytes) {
    errno = EFBIG;
    return failure("make", size_bytes);
  }
  std::shared_ptr<HostBuffer> buffer(new HostBuffer);
  buffer->size_bytes_ = size_bytes;
  buffer->segment_bytes_ = segment_bytes_for(size_bytes);
  buffer->fd_ = memfd_create("outboard-buffer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (buffer->fd_ < 0) return failure("make", size_bytes);
  if (ftruncate(buffer->fd_, static_cast<off_t>(buffer->segment_bytes_)) != 0) {
    return failure("size", size_bytes);
  }
  // A client that maps the file must not be able to cut it: touching the lost part would kill this
  // process.
  if (fcntl(buffer->fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return failure("seal", size_bytes);
  }
  if (Status status = buffer->map(); !status.ok()) return status;
  // Errors are ignored: without huge pages the buffer works, but more slowly.
  if (buffer->segment_bytes_ >= kHugePageBytes) {
    (void)madvise(buffer->data_, buffer->segment_bytes_, MADV_HUGEPAGE);
  }
  return buffer;
}

// Reserves address space for buffer and guards, then maps the file in its middle.
Status HostBuffer::map() {
  // Large buffers keep the alignment that huge pages need.
  const std::uint64_t guard = segment_bytes_ >= kHugePageBytes ? kHugePageBytes : kGuardBytes;
  reserved_bytes_ = segment_bytes_ + 2 * guard;
  void* around = mmap(nullptr, reserved_bytes_, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (around == MAP_FAILED) return failure("map", size_bytes_);
  reserved_ = static_cast<std::byte*>(around);
  void* at = mmap(reserved_ + guard, segment_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                  fd_, 0);
  if (at == MAP_FAILED) return failure("map", size_bytes_);
  data_ = static_cast<std::byte*>(at);
  return {};
}

HostBuffer::~HostBuffer() {
  if (reserved_ != nullptr) munmap(reserved_, reserved_bytes_);
  if (fd_ >= 0) close(fd_);
}

}  // namespace ob
