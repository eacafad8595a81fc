#include "sial/worker/fetched_blocks.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ob::sial {

FetchedBlocks::FetchedBlocks(std::size_t arrays, std::uint64_t limit_bytes,
                             std::vector<GetCounts>& counts)
    : limit_bytes_(limit_bytes), counts_(counts), blocks_(arrays) {}

FetchedBlock* FetchedBlocks::find(std::uint32_t array, std::uint64_t number) noexcept {
  const auto found = blocks_[array].find(number);
  return found == blocks_[array].end() ? nullptr : &found->second;
}

void FetchedBlocks::arrive(FetchedBlock& entry, ConstBlockPtr block) {
  entry.pending = false;
  entry.block = std::move(block);
  if (entry.block == nullptr) return;
  entry.last_use = ++clock_;
  bytes_ += entry.block->bytes();
  peak_bytes_ = std::max(peak_bytes_, bytes_);
  counts_[entry.access].bytes += entry.block->bytes();
  if (limit_bytes_ != 0 && bytes_ > limit_bytes_) evict();
}

// Counts what is lost with an entry.
void FetchedBlocks::drop(const FetchedBlock& entry) noexcept {
  if (entry.block != nullptr) bytes_ -= entry.block->bytes();
  if (entry.ahead && entry.epoch == FetchedBlock::kNever) ++counts_[entry.access].unused;
}

void FetchedBlocks::forget(std::uint32_t array, std::uint64_t number) {
  const auto found = blocks_[array].find(number);
  if (found == blocks_[array].end()) return;
  drop(found->second);
  blocks_[array].erase(found);
}

void FetchedBlocks::forget_all(std::uint32_t array) {
  for (const auto& [number, entry] : blocks_[array]) drop(entry);
  blocks_[array].clear();
}

void FetchedBlocks::forget_all() {
  for (std::uint32_t array = 0; array < blocks_.size(); ++array) forget_all(array);
}

void FetchedBlocks::end_grants() noexcept {
  for (Blocks& blocks : blocks_) {
    for (auto& [number, entry] : blocks) entry.granted = false;
  }
}

struct FetchedBlocks::Candidate {
  bool unused;  // fetched ahead for an iteration to come
  std::uint64_t order;
  std::uint32_t array;
  std::uint64_t number;
};

// Drops blocks until a quarter of the limit is free: first those that were used, the least recently
// used one first; then those that the look-ahead needs, the one needed last first.
void FetchedBlocks::evict() {
  std::vector<Candidate> candidates;
  for (std::uint32_t array = 0; array < blocks_.size(); ++array) {
    for (const auto& [number, entry] : blocks_[array]) {
      if (entry.granted || entry.block == nullptr) continue;
      const bool unused = entry.ahead && entry.epoch == FetchedBlock::kNever;
      candidates.push_back({unused, unused ? ~entry.last_use : entry.last_use, array, number});
    }
  }
  std::ranges::sort(candidates, {},
                    [](const Candidate& one) { return std::tuple(one.unused, one.order); });
  for (const Candidate& one : candidates) {
    if (bytes_ <= limit_bytes_ / 4 * 3) return;
    ++counts_[find(one.array, one.number)->access].evicted;
    forget(one.array, one.number);
  }
}

}  // namespace ob::sial
