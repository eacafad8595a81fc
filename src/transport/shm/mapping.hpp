#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <utility>

#include "transport/shm/layout.hpp"

namespace ob::transport::shm {

/// Owns the mapping of a connection's shared memory. A forked child inherits the mapping and may
/// unmap its copy.
class Mapping {
 public:
  Mapping() noexcept = default;
  explicit Mapping(void* base) noexcept : base_(static_cast<std::byte*>(base)) {}
  Mapping(Mapping&& source) noexcept : base_(std::exchange(source.base_, nullptr)) {}
  Mapping& operator=(Mapping&& source) noexcept {
    std::swap(base_, source.base_);
    return *this;
  }
  ~Mapping() {
    if (base_ != nullptr) ::munmap(base_, kMemoryBytes);
  }

  Header& header() const noexcept { return *reinterpret_cast<Header*>(base_); }
  /// Returns the ring that `from` sends into.
  std::byte* ring(Side from) const noexcept {
    return base_ + kDataOffsetBytes + static_cast<unsigned>(from) * kRingBytes;
  }

 private:
  std::byte* base_ = nullptr;
};

}  // namespace ob::transport::shm
