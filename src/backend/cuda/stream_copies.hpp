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

/// Host memory that the device cannot reach by itself goes through two page-locked blocks, one of
/// which is filled or emptied while the other travels. All of these return when the copy is done.
/// A Layout's addresses are the device's or the host's, as its name says.
/// Threads: the queue's executor
class StreamCopies {
 public:
  explicit StreamCopies(const StreamContext& context) : context_(context) {}
  ~StreamCopies();
  StreamCopies(const StreamCopies&) = delete;
  StreamCopies& operator=(const StreamCopies&) = delete;

  /// Errors: out_of_memory, device_error   @pre equal total_bytes()
  Status upload(const Layout& device, const Layout& host);
  Status download(const Layout& host, const Layout& device);
  Status copy(const Layout& to, const Layout& from);
  /// Of elements in device memory.   @param base their offsets count from here
  Status digest(std::byte* base, const ChunkParts& parts, Digest& digest);

 private:
  using Sink = std::function<void(std::span<const std::byte>)>;
  Status prepare(std::uint64_t total_bytes);
  Status submit(Layout::Cursor& to, Layout::Cursor& from, std::uint64_t count_bytes,
                cudaMemcpyKind kind);
  Status mark(unsigned slot);
  Status wait(unsigned slot);
  Status stream_out(const Layout& device, const Sink& sink);
  bool reachable(const Layout& host) const;

  static constexpr unsigned kSlots = 2;
  const StreamContext& context_;
  std::array<PinnedBlock, kSlots> blocks_;
  std::array<cudaEvent_t, kSlots> events_{};
};

}  // namespace ob::cuda
