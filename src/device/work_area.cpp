#include "device/work_area.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "device/device_memory.hpp"

namespace ob {
namespace {

// The alignment that the libraries' kernels need; drivers give at least as much.
constexpr std::uint64_t kAlignBytes = 256;
// Sizes up to this are rounded to powers of two, so that freed memory fits the next request.
constexpr std::uint64_t kRoundedBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kLeastBytes = std::uint64_t{1} << 20;

std::uint64_t aligned(std::uint64_t size_bytes) noexcept {
  return std::max(kAlignBytes, (size_bytes + kAlignBytes - 1) / kAlignBytes * kAlignBytes);
}

}  // namespace

WorkArea::WorkArea(DeviceMemory& memory, std::function<void()> catch_up)
    : memory_(memory), catch_up_(std::move(catch_up)) {}
WorkArea::~WorkArea() = default;

// Earlier commands may still use their memory, but the stream runs this command after them.
Result<std::shared_ptr<DeviceBuffer>> WorkArea::block(std::uint64_t size_bytes) {
  if (blocks_.empty()) {
    if (auto shared = earlier_.lock(); shared != nullptr && shared->size_bytes() >= size_bytes)
      return shared;
  }
  const std::uint64_t rounded =
      size_bytes <= kRoundedBytes ? std::bit_ceil(std::max(size_bytes, kLeastBytes)) : size_bytes;
  if (auto fresh = memory_.scratch(rounded); fresh.ok()) return fresh;
  if (auto fresh = memory_.scratch(size_bytes); fresh.ok()) return fresh;
  catch_up_();
  return memory_.scratch(size_bytes);
}

Result<std::byte*> WorkArea::device_bytes(std::uint64_t size_bytes) {
  if (size_bytes > UINT64_MAX / 2) return Status(Code::out_of_memory, "a workspace beyond reason");
  const std::uint64_t needed = aligned(size_bytes);
  if (blocks_.empty() || needed > blocks_.back()->size_bytes() - used_bytes_) {
    auto fresh = block(needed);
    OB_RETURN_IF_ERROR(fresh.status().in("workspace"));
    blocks_.push_back(std::move(*fresh));
    used_bytes_ = 0;
  }
  std::byte* const data = blocks_.back()->data() + used_bytes_;
  used_bytes_ += needed;
  return data;
}

std::vector<std::shared_ptr<DeviceBuffer>> WorkArea::hand_over() {
  used_bytes_ = 0;
  const auto largest = std::max_element(
      blocks_.begin(), blocks_.end(),
      [](const auto& a, const auto& b) { return a->size_bytes() < b->size_bytes(); });
  if (largest != blocks_.end()) earlier_ = *largest;
  return std::exchange(blocks_, {});
}

}  // namespace ob
