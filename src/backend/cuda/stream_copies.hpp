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

/// What the device reaches by itself is only submitted: it is copied when the stream gets there.
/// Other memory of the host goes through two page-locked blocks, one of which is filled or emptied
/// while the other travels; the last two of an upload may still travel when it returns. A Layout's
/// addresses are the device's or the host's, as its name says.
/// Threads: the one that submits
class StreamCopies {
 public:
  explicit StreamCopies(const StreamContext& context) : context_(context) {}
  ~StreamCopies();
  StreamCopies(const StreamCopies&) = delete;
  StreamCopies& operator=(const StreamCopies&) = delete;

  /// Errors: out_of_memory, device_error   @pre equal total_bytes()
  Status upload(const Layout& device, const Layout& host);
  /// Waits unless the device reaches the host's memory.
  Status download(const Layout& host, const Layout& device);
  Status copy(const Layout& to, const Layout& from);
  /// Of elements in device memory; waits.   @param base their offsets count from here
  Status digest(std::byte* base, const ChunkParts& parts, Digest& digest);

  /// True if the device copies to or from there by itself.   Threads: any
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
