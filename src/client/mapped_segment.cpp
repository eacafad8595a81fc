#include "client/mapped_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

namespace ob::client {
namespace {

constexpr std::chrono::seconds kDescriptorTimeout{5};  // it directly follows its location

// A file that shrinks would kill this process, so it must be sealed.
bool holds_buffer(int file, const wire::Location& location, std::uint64_t buffer_bytes) {
  struct stat facts {};
  const int seals = ::fcntl(file, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && ::fstat(file, &facts) == 0 &&
         static_cast<std::uint64_t>(facts.st_size) >= location.segment_bytes &&
         location.offset_bytes <= location.segment_bytes &&
         location.segment_bytes - location.offset_bytes >= buffer_bytes;
}

}  // namespace

MappedSegment::~MappedSegment() {
  if (memory_ != nullptr) ::munmap(memory_, size_bytes_);
}

Result<MappedSegment> MappedSegment::receive(transport::Stream& stream,
                                             const wire::Location& location,
                                             std::uint64_t buffer_bytes) {
  OB_ASSIGN_OR_RETURN(const transport::Segment segment,
                      stream.receive_segment(transport::Clock::now() + kDescriptorTimeout));
  const bool sane = holds_buffer(segment.fd, location, buffer_bytes);
  void* const memory = sane ? ::mmap(nullptr, location.segment_bytes, PROT_READ | PROT_WRITE,
                                     MAP_SHARED, segment.fd, 0)
                            : MAP_FAILED;
  ::close(segment.fd);
  if (!sane) {
    return Status(Code::protocol_error,
                  "daemon sent a segment that is smaller than its buffer or not sealed");
  }
  if (memory == MAP_FAILED) return Status(Code::out_of_memory, "cannot map the daemon's buffer");
  (void)::madvise(memory, location.segment_bytes, MADV_DONTFORK);
  MappedSegment mapped;
  mapped.memory_ = memory;
  mapped.size_bytes_ = location.segment_bytes;
  mapped.offset_bytes_ = location.offset_bytes;
  return mapped;
}

}  // namespace ob::client
