#include "backend/cuda/work_area.hpp"

#include <algorithm>
#include <utility>

#include "backend/cuda/device_memory.hpp"

namespace ob::cuda {
namespace {

// What the libraries' kernels want (cudaMalloc gives no less).
constexpr std::uint64_t kAlignBytes = 256;
// Between commands a queue keeps at most so much for itself; the rest is the device's again.
constexpr std::uint64_t kKeptBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kLeastBytes = std::uint64_t{1} << 20;

std::uint64_t aligned(std::uint64_t size_bytes) noexcept {
  return std::max(kAlignBytes, (size_bytes + kAlignBytes - 1) / kAlignBytes * kAlignBytes);
}

}  // namespace

WorkArea::WorkArea(DeviceMemory& memory) : memory_(memory) {}
WorkArea::~WorkArea() = default;

Result<std::byte*> WorkArea::device_bytes(std::uint64_t size_bytes) {
  if (size_bytes > UINT64_MAX / 2) return Status(Code::out_of_memory, "a workspace beyond reason");
  const std::uint64_t needed = aligned(size_bytes);
  if (blocks_.empty() || needed > blocks_.back()->size_bytes() - used_bytes_) {
    auto block = memory_.scratch(std::max(needed, kLeastBytes));
    if (!block.ok() && needed < kLeastBytes) block = memory_.scratch(needed);
    OB_RETURN_IF_ERROR(block.status().in("workspace"));
    blocks_.push_back(std::move(*block));
    used_bytes_ = 0;
  }
  std::byte* const data = blocks_.back()->data() + used_bytes_;
  used_bytes_ += needed;
  return data;
}

void WorkArea::reset() noexcept {
  used_bytes_ = 0;
  if (blocks_.empty()) return;
  const auto size = [](const auto& block) {
    return block->size_bytes() <= kKeptBytes ? block->size_bytes() : 0;
  };
  const auto largest =
      std::max_element(blocks_.begin(), blocks_.end(),
                       [&](const auto& a, const auto& b) { return size(a) < size(b); });
  std::swap(blocks_.front(), *largest);
  blocks_.resize(size(blocks_.front()) == 0 ? 0 : 1);
}

}  // namespace ob::cuda
