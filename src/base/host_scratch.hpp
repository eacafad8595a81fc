#pragma once
// Host memory for results that must be complete before they may replace the caller's data.

#include <cstddef>
#include <cstdint>

namespace ob {

/// Memory from a small process-wide pool, so that a large result does not pay for first touch on
/// every call. Empty if there is not enough memory.   Threads: any
class HostScratch {
 public:
  explicit HostScratch(std::uint64_t size_bytes) noexcept;
  ~HostScratch();
  HostScratch(HostScratch&& other) noexcept;
  HostScratch& operator=(HostScratch&&) = delete;

  std::byte* data() const noexcept { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t capacity_bytes_ = 0;
};

}  // namespace ob
