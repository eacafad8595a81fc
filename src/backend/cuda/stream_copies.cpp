#include "backend/cuda/stream_copies.hpp"

#include <algorithm>

#include "base/contract.hpp"

namespace ob::cuda {
namespace {

// The block size with which copies by the host and by the device overlap well (docs/backends.md).
constexpr std::uint64_t kStagingBlockBytes = std::uint64_t{4} << 20;
// cudaMemcpy2D takes no larger pitch (cudaDevAttrMaxPitch of all devices so far).
constexpr std::uint64_t kMaxPitch = INT32_MAX;

}  // namespace

StreamCopies::~StreamCopies() {
  for (const cudaEvent_t event : events_) {
    if (event != nullptr) (void)context_.runtime().cudaEventDestroy(event);
  }
}

Status StreamCopies::prepare(std::uint64_t total_bytes) {
  const Runtime& cuda = context_.runtime();
  const std::uint64_t wanted = std::min(total_bytes, kStagingBlockBytes);
  for (unsigned i = 0; i < kSlots; ++i) {
    if (i > 0 && total_bytes <= wanted) return {};  // one block is enough
    if (blocks_[i].size_bytes() < wanted) {
      OB_RETURN_IF_ERROR(wait(i));
      OB_ASSIGN_OR_RETURN(blocks_[i], context_.pinned.take(wanted));
    }
    if (events_[i] == nullptr) {
      OB_RETURN_IF_ERROR(
          cuda.check(cuda.cudaEventCreateWithFlags(&events_[i],
                                                   cudaEventDisableTiming | cudaEventBlockingSync),
                     "making an event"));
    }
  }
  return {};
}

Status StreamCopies::submit(Layout::Cursor& to, Layout::Cursor& from, std::uint64_t count_bytes,
                            cudaMemcpyKind kind) {
  return copy_pieces(to, from, count_bytes, kMaxPitch, context_.copies(kind));
}

Status StreamCopies::mark(unsigned slot) {
  const Runtime& cuda = context_.runtime();
  travelling_[slot] = true;
  return cuda.check(cuda.cudaEventRecord(events_[slot], context_.stream), "marking a copy");
}

Status StreamCopies::wait(unsigned slot) {
  if (!travelling_[slot]) return {};
  const Runtime& cuda = context_.runtime();
  OB_RETURN_IF_ERROR(cuda.check(cuda.cudaEventSynchronize(events_[slot]), "waiting for a copy"));
  travelling_[slot] = false;
  return {};
}

bool StreamCopies::reachable(const Layout& host) const {
  const Layout::Cursor at(host);
  return host.contiguous() && context_.pinned.contains(at.piece().data(), host.total_bytes());
}

Status StreamCopies::upload(const Layout& device, const Layout& host) {
  OB_EXPECT(device.total_bytes() == host.total_bytes());
  if (host.total_bytes() == 0) return {};
  if (!reachable(host)) {
    Status status = upload_blocks(device, host);
    if (!status.ok()) (void)context_.synchronize();  // no block may be in transfer without an event
    return status;
  }
  Layout::Cursor to(device);
  Layout::Cursor from(host);
  return submit(to, from, host.total_bytes(), cudaMemcpyHostToDevice);
}

Status StreamCopies::upload_blocks(const Layout& device, const Layout& host) {
  const std::uint64_t total = host.total_bytes();
  Layout::Cursor to(device);
  Layout::Cursor from(host);
  OB_RETURN_IF_ERROR(prepare(total));
  unsigned slot = 0;
  for (std::uint64_t done = 0; done < total; slot = (slot + 1) % kSlots) {
    OB_RETURN_IF_ERROR(wait(slot));
    const std::uint64_t n = std::min(total - done, kStagingBlockBytes);
    (void)gather(from, {blocks_[slot].data(), n});
    const Layout packed = Layout::bytes(blocks_[slot].data(), n);
    Layout::Cursor block(packed);
    OB_RETURN_IF_ERROR(submit(to, block, n, cudaMemcpyHostToDevice));
    OB_RETURN_IF_ERROR(mark(slot));
    done += n;
  }
  return {};
}

Status StreamCopies::stream_out(const Layout& device, const Sink& sink) {
  if (device.total_bytes() == 0) return {};
  Status status = download_blocks(device, sink);
  if (!status.ok()) (void)context_.synchronize();
  return status;
}

Status StreamCopies::download_blocks(const Layout& device, const Sink& sink) {
  const std::uint64_t total = device.total_bytes();
  OB_RETURN_IF_ERROR(prepare(total));
  Layout::Cursor from(device);
  const std::uint64_t count = (total + kStagingBlockBytes - 1) / kStagingBlockBytes;
  const auto bytes = [&](std::uint64_t i) {
    return std::min(total - i * kStagingBlockBytes, kStagingBlockBytes);
  };
  for (std::uint64_t i = 0; i <= count; ++i) {
    if (i < count) {
      const auto slot = static_cast<unsigned>(i % kSlots);
      const Layout packed = Layout::bytes(blocks_[slot].data(), bytes(i));
      Layout::Cursor block(packed);
      OB_RETURN_IF_ERROR(submit(block, from, bytes(i), cudaMemcpyDeviceToHost));
      OB_RETURN_IF_ERROR(mark(slot));
    }
    if (i > 0) {
      const auto slot = static_cast<unsigned>((i - 1) % kSlots);
      OB_RETURN_IF_ERROR(wait(slot));
      sink({blocks_[slot].data(), bytes(i - 1)});
    }
  }
  return {};
}

Status StreamCopies::download(const Layout& host, const Layout& device) {
  OB_EXPECT(device.total_bytes() == host.total_bytes());
  if (host.total_bytes() == 0) return {};
  Layout::Cursor to(host);
  if (reachable(host)) {
    Layout::Cursor from(device);
    return submit(to, from, host.total_bytes(), cudaMemcpyDeviceToHost);
  }
  return stream_out(device, [&](std::span<const std::byte> bytes) { (void)scatter(bytes, to); });
}

Status StreamCopies::copy(const Layout& to_layout, const Layout& from_layout) {
  OB_EXPECT(to_layout.total_bytes() == from_layout.total_bytes());
  Layout::Cursor to(to_layout);
  Layout::Cursor from(from_layout);
  return submit(to, from, to_layout.total_bytes(), cudaMemcpyDeviceToDevice);
}

Status StreamCopies::digest(std::byte* base, const ChunkParts& parts, Digest& digest) {
  Digester digester;
  for (const Region& part : parts.span()) {
    OB_RETURN_IF_ERROR(
        stream_out(Layout::matrix(base, part),
                   [&](std::span<const std::byte> bytes) { digester.update(bytes); }));
  }
  digest = digester.digest();
  return {};
}

}  // namespace ob::cuda
