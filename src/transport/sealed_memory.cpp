#include "transport/sealed_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "transport/detail/system_error.hpp"

namespace ob::transport {
namespace {

// A file that shrinks under a mapping causes faults; one that grows wastes memory; F_SEAL_SEAL
// prevents a later F_SEAL_WRITE.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
// MFD_NOEXEC_SEAL, which older headers lack. Some systems require it; Linux before 6.3 rejects it.
constexpr unsigned kNeverExecuted = 0x0008U;

int create(const char* name) {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const int fd = ::memfd_create(name, kFlags | kNeverExecuted);
  return fd < 0 && errno == EINVAL ? ::memfd_create(name, kFlags) : fd;
}

}  // namespace

Result<Fd> create_sealed_memory(const char* name, std::size_t size_bytes) {
  Fd memory(create(name));
  if (!memory) {
    const Code code = errno == ENOSYS ? Code::unsupported : Code::out_of_memory;
    return detail::system_error(code, "cannot create shared memory", errno);
  }
  if (::ftruncate(memory.get(), static_cast<off_t>(size_bytes)) != 0) {
    return detail::system_error(Code::out_of_memory, "cannot size shared memory", errno);
  }
  if (::fcntl(memory.get(), F_ADD_SEALS, kSeals) != 0) {
    return detail::system_error(Code::unsupported, "cannot seal shared memory", errno);
  }
  return memory;
}

Result<std::size_t> verify_sealed_memory(int fd, std::size_t min_bytes) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0) {
    return Status(Code::protocol_error, "the peer passed a file that is not shared memory");
  }
  if ((seals & kSeals) != kSeals) {
    return Status(Code::protocol_error,
                  "the peer passed shared memory that it could truncate (seals are missing)");
  }
  struct stat status = {};
  if (::fstat(fd, &status) != 0 || status.st_size < 0 ||
      static_cast<std::size_t>(status.st_size) < min_bytes) {
    return Status(Code::protocol_error, "the peer passed shared memory of " +
                                            std::to_string(status.st_size) + " bytes (" +
                                            std::to_string(min_bytes) + " are needed)");
  }
  return static_cast<std::size_t>(status.st_size);
}

}  // namespace ob::transport
