#pragma once
// The accesses to the blocks of an array since the last barrier.

#include <cstdint>

#include "sial/exchange/message.hpp"
#include "sial/server/chunked_vector.hpp"
#include "sial/server/races.hpp"
#include "sial/server/spill_store.hpp"

namespace ob::sial {

/// The accesses to one block in this epoch, and the first one of them.
struct BlockAccesses {
  RecordId block = kNoRecord;
  Rank worker = 0;
  std::uint32_t instruction = 0;
  AccessState state = AccessState::untouched;
  std::uint64_t iteration = 0;
};
static_assert(sizeof(BlockAccesses) == 24);

/// Only blocks that somebody has touched in the present epoch have an entry. The record of a block
/// knows where.
/// Memory:  24 bytes per block that was touched
/// Threads: owner only
class EpochAccesses {
 public:
  /// @param records those of the blocks; they outlive this
  explicit EpochAccesses(SpillStore::Array& records) : records_(records) {}

  /// Returns the accesses to a block in an epoch; nullptr if there are none, or none any more.
  const BlockAccesses* find(RecordId block, std::uint64_t epoch) const noexcept {
    const std::uint32_t entry = block == kNoRecord || epoch != epoch_ ? 0 : records_.note(block);
    return entry == 0 ? nullptr : &accesses_[entry - 1];
  }
  /// Returns the same to be changed, and makes it if there is none. A later epoch ends the one
  /// before.
  /// @pre epoch >= this->epoch()
  BlockAccesses& enter(RecordId block, std::uint64_t epoch) {
    if (epoch != epoch_) begin(epoch);
    std::uint32_t& entry = records_.note(block);
    if (entry == 0) {
      accesses_.push_back({block, 0, 0, AccessState::untouched, 0});
      entry = static_cast<std::uint32_t>(accesses_.size());
    }
    return accesses_[entry - 1];
  }
  /// Returns the latest epoch with an access.
  std::uint64_t epoch() const noexcept { return epoch_; }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(accesses_.size()); }
  const BlockAccesses& operator[](std::uint32_t at) const noexcept { return accesses_[at]; }
  /// Forgets all accesses. The notes of the records stay, so the caller clears the records too.
  void clear() noexcept { accesses_.clear(); }

 private:
  void begin(std::uint64_t epoch) noexcept {
    for (std::uint32_t at = 0; at < size(); ++at) records_.note(accesses_[at].block) = 0;
    accesses_.clear();
    epoch_ = epoch;
  }

  SpillStore::Array& records_;
  ChunkedVector<BlockAccesses> accesses_;
  std::uint64_t epoch_ = 0;
};

}  // namespace ob::sial
