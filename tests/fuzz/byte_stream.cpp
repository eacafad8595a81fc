#include "fuzz/byte_stream.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "fuzz/failure.hpp"
#include "transport/sealed_memory.hpp"

namespace ob::fuzz {
namespace {

constexpr std::size_t kSegmentBytes = std::size_t{64} << 10;

// Returns a random size up to 2^(n % 16) bytes.
std::size_t piece_size(std::minstd_rand& random, std::uint8_t n) {
  return 1 + random() % (std::size_t{1} << (n % 16));
}

}  // namespace

ByteStream::ByteStream(const Delivery& delivery, View says, MessageChecker& checker)
    : delivery_(delivery),
      says_(says),
      pieces_(delivery.pieces),
      checker_(checker),
      sends_(delivery.sends) {
  if (delivery.sends >= 128) takes_ = (delivery.sends - std::size_t{128}) * 64;
}

Status ByteStream::lost() const {
  return {Code::connection_lost, over_ ? "shut down" : "the input ended"};
}

Result<std::size_t> ByteStream::try_send(std::span<const iovec> parts) {
  if (over_ || takes_ == 0) return lost();
  std::size_t room = takes_;
  if (delivery_.sends > 0 && delivery_.sends < 128) {
    full_ = !full_ && sends_() % 4 == 0;
    if (full_) return std::size_t{0};
    room = piece_size(sends_, delivery_.sends);
  }
  std::size_t sent = 0;
  for (const iovec& part : parts) {
    const std::size_t size = std::min(part.iov_len, room - sent);
    checker_.check({static_cast<const std::byte*>(part.iov_base), size});
    sent += size;
  }
  if (takes_ != SIZE_MAX) takes_ -= sent;
  return sent;
}

Result<std::size_t> ByteStream::try_receive(std::span<const iovec> parts) {
  if (over_) return lost();
  if (says_.empty()) {
    if (silences_left_ > 0 && (delivery_.flags & kFallsSilent) != 0) return std::size_t{0};
    return lost();
  }
  std::size_t room = says_.size();
  if (delivery_.pieces > 0) {
    dry_ = !dry_ && pieces_() % 4 == 0;
    if (dry_) return std::size_t{0};
    room = std::min(room, piece_size(pieces_, delivery_.pieces));
  }
  std::size_t received = 0;
  for (const iovec& part : parts) {
    const std::size_t size = std::min(part.iov_len, room - received);
    if (size > 0) std::memcpy(part.iov_base, says_.data() + received, size);
    received += size;
  }
  says_ = says_.subspan(received);
  return received;
}

Status ByteStream::wait(bool want_receive, bool want_send, transport::Deadline) {
  if (over_) return lost();
  if (want_send) return takes_ == 0 ? lost() : Status();
  if (!want_receive || !says_.empty()) return {};
  if ((delivery_.flags & kFallsSilent) == 0 || silences_left_-- <= 0) return lost();
  return {Code::deadline_exceeded, "the input is silent"};
}

Status ByteStream::send_segment(int fd) {
  if (!shares_memory()) return {Code::unsupported, "no shared memory"};
  expect(::fcntl(fd, F_GETFD) >= 0, "a segment that is sent is open");
  return over_ ? lost() : Status();
}

Result<transport::Segment> ByteStream::receive_segment(transport::Deadline) {
  if (over_) return lost();
  const unsigned kind = (delivery_.flags & kSegmentKinds) >> kSegmentShift;
  if (kind == 3) return Status(Code::protocol_error, "no segment came");
  if (kind == 2) {
    const int unsealed = ::memfd_create("fuzz", MFD_CLOEXEC);
    expect(unsealed >= 0 && ::ftruncate(unsealed, kSegmentBytes) == 0, "there is memory");
    return transport::Segment{unsealed};
  }
  auto sealed = transport::create_sealed_memory("fuzz", kind == 1 ? 4096 : kSegmentBytes);
  expect(sealed.ok(), "there is sealed memory");
  return transport::Segment{sealed->release()};
}

}  // namespace ob::fuzz
