#pragma once
// Copies between the host and a device, and inside of it, on one queue.

#include <cstdint>
#include <functional>
#include <span>

#include "backend/opencl/queue_context.hpp"
#include "base/chunks.hpp"
#include "base/digest.hpp"
#include "base/layout.hpp"

namespace ob::opencl {

/// All functions return when the copy is done. The addresses of a Layout are those of the device or
/// the host, as its name says.
/// Threads: the queue's worker
class Copies {
 public:
  explicit Copies(const QueueContext& context) : context_(context) {}

  /// Copies from the host.   Errors: out_of_memory, device_error
  /// @pre device.total_bytes() == host.total_bytes()
  Status upload(const Layout& device, const Layout& host);
  /// Copies to the host. Errors as upload().
  /// @pre device.total_bytes() == host.total_bytes()
  Status download(const Layout& host, const Layout& device);
  /// Copies inside the device. Errors as upload().
  /// @pre to.total_bytes() == from.total_bytes()
  Status copy(const Layout& to, const Layout& from);
  /// Computes a digest of elements in device memory.
  /// @param base the address that the parts' offsets count from
  Status digest(std::byte* base, const ChunkParts& parts, Digest& digest);

  /// True if the device can access the memory.   Threads: any
  static bool reachable(const Layout& /*host*/) { return false; }

 private:
  using Sink = std::function<void(std::span<const std::byte>)>;
  Status prepare(std::uint64_t total_bytes);
  Status submit(Layout::Cursor& to, Layout::Cursor& from, std::uint64_t count_bytes,
                QueueContext::Way way);
  Status read_out(const Layout& device, const Sink& sink);

  const QueueContext& context_;
  HostBlock block_;
};

}  // namespace ob::opencl
