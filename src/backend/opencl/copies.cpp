#include "backend/opencl/copies.hpp"

#include <algorithm>

#include "base/contract.hpp"

namespace ob::opencl {
namespace {

// Host memory in smaller pieces is packed first, because a command costs some microseconds.
constexpr std::uint64_t kLeastPieceBytes = 4096;
constexpr std::uint64_t kBlockBytes = std::uint64_t{4} << 20;

bool in_large_pieces(const Layout& host) {
  return host.contiguous() || host.piece_bytes() >= kLeastPieceBytes;
}

}  // namespace

Status Copies::prepare(std::uint64_t total_bytes) {
  const std::uint64_t wanted = std::min(total_bytes, kBlockBytes);
  if (block_.size_bytes < wanted) {
    OB_ASSIGN_OR_RETURN(block_, HostBlock::allocate(wanted));
  }
  return {};
}

Status Copies::submit(Layout::Cursor& to, Layout::Cursor& from, std::uint64_t count_bytes,
                      QueueContext::Way way) {
  return copy_pieces(to, from, count_bytes, INT64_MAX, context_.copies(way));
}

Status Copies::upload(const Layout& device, const Layout& host) {
  OB_EXPECT(device.total_bytes() == host.total_bytes());
  const std::uint64_t total = host.total_bytes();
  if (total == 0) return {};
  Layout::Cursor to(device);
  Layout::Cursor from(host);
  if (in_large_pieces(host)) {
    OB_RETURN_IF_ERROR(submit(to, from, total, QueueContext::Way::to_device));
    return context_.synchronize();
  }
  OB_RETURN_IF_ERROR(prepare(total));
  for (std::uint64_t done = 0; done < total;) {
    const std::uint64_t n = std::min(total - done, kBlockBytes);
    (void)gather(from, {block_.data.get(), n});
    const Layout packed = Layout::bytes(block_.data.get(), n);
    Layout::Cursor block(packed);
    OB_RETURN_IF_ERROR(submit(to, block, n, QueueContext::Way::to_device));
    OB_RETURN_IF_ERROR(context_.synchronize());
    done += n;
  }
  return {};
}

Status Copies::read_out(const Layout& device, const Sink& sink) {
  const std::uint64_t total = device.total_bytes();
  OB_RETURN_IF_ERROR(prepare(total));
  Layout::Cursor from(device);
  for (std::uint64_t done = 0; done < total;) {
    const std::uint64_t n = std::min(total - done, kBlockBytes);
    const Layout packed = Layout::bytes(block_.data.get(), n);
    Layout::Cursor block(packed);
    OB_RETURN_IF_ERROR(submit(block, from, n, QueueContext::Way::to_host));
    OB_RETURN_IF_ERROR(context_.synchronize());
    sink({block_.data.get(), n});
    done += n;
  }
  return {};
}

Status Copies::download(const Layout& host, const Layout& device) {
  OB_EXPECT(device.total_bytes() == host.total_bytes());
  const std::uint64_t total = host.total_bytes();
  if (total == 0) return {};
  Layout::Cursor to(host);
  if (in_large_pieces(host)) {
    Layout::Cursor from(device);
    OB_RETURN_IF_ERROR(submit(to, from, total, QueueContext::Way::to_host));
    return context_.synchronize();
  }
  return read_out(device, [&](std::span<const std::byte> bytes) { (void)scatter(bytes, to); });
}

Status Copies::copy(const Layout& to_layout, const Layout& from_layout) {
  OB_EXPECT(to_layout.total_bytes() == from_layout.total_bytes());
  Layout::Cursor to(to_layout);
  Layout::Cursor from(from_layout);
  OB_RETURN_IF_ERROR(submit(to, from, to_layout.total_bytes(), QueueContext::Way::inside));
  return context_.synchronize();
}

Status Copies::digest(std::byte* base, const ChunkParts& parts, Digest& digest) {
  Digester digester;
  for (const Region& part : parts.span()) {
    OB_RETURN_IF_ERROR(read_out(Layout::matrix(base, part),
                                [&](std::span<const std::byte> bytes) { digester.update(bytes); }));
  }
  digest = digester.digest();
  return {};
}

}  // namespace ob::opencl
