#pragma once
// Copies between the host and a device, and inside of it, on one stream.

#include <array>
#include <cstdint>
#include <functional>
#include <span>

#include "backend/cuda/stream_context.hpp"
#include "base/chunks.hpp"
#include "base/digest.hpp"
#include "base/layout.hpp"

namespace ob::cuda {

/// Copies of memory that the device can access are only submitted, and run in the stream's order.
/// Other host memory passes through two page-locked blocks. The host fills or empties one block
/// while the device copies the other. The last two blocks of an upload may still be in transfer
/// when it returns. The addresses of a Layout are those of the device or the host, as its name
/// says.
/// Threads: the one that submits
class StreamCopies {
 public:
  explicit StreamCopies(const StreamContext& context) : context_(context) {}
  ~StreamCopies();
  StreamCopies(const StreamCopies&) = delete;
  StreamCopies& operator=(const StreamCopies&) = delete;

  /// Copies from the host.   Errors: out_of_memory, device_error
  /// @pre device.total_bytes() == host.total_bytes()
  Status upload(const Layout& device, const Layout& host);
  /// Copies to the host; waits unless the device can access the host's memory. Errors as upload().
  /// @pre device.total_bytes() == host.total_bytes()
  Status download(const Layout& host, const Layout& device);
  /// Copies inside the device. Errors as upload().
  /// @pre to.total_bytes() == from.total_bytes()
  Status copy(const Layout& to, const Layout& from);
  /// Computes a digest of elements in device memory and waits for it.
  /// @param base the address that the parts' offsets count from
  Status digest(std::byte* base, const ChunkParts& parts, Digest& digest);

  /// True if the device can access the memory.   Threads: any
  bool reachable(const Layout& host) const;

 private:
  using Sink = std::function<void(std::span<const std::byte>)>;
  Status prepare(std::uint64_t total_bytes);
  Status upload_blocks(const Layout& device, const Layout& host);
  Status download_blocks(const Layout& device, const Sink& sink);
  Status submit(Layout::Cursor& to, Layout::Cursor& from, std::uint64_t count_bytes,
                cudaMemcpyKind kind);
  Status mark(unsigned slot);
  Status wait(unsigned slot);
  Status stream_out(const Layout& device, const Sink& sink);

  static constexpr unsigned kSlots = 2;
  const StreamContext& context_;
  std::array<PinnedBlock, kSlots> blocks_;
  std::array<cudaEvent_t, kSlots> events_{};
  std::array<bool, kSlots> travelling_{};
};

}  // namespace ob::cuda
