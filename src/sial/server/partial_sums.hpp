#pragma once
// Sums that do not depend on the order in which messages arrive.

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "sial/exchange/message.hpp"
#include "sial/operations/scratch.hpp"
#include "sial/server/spill_store.hpp"

namespace ob::sial {

/// Keeps what each worker has added to the blocks of one array, apart from the blocks, so that a
/// server can add it to them in the order of the workers. The messages of one worker arrive in
/// their order.
/// Memory:  a block per block and worker that adds to it, within the limit of the store
/// Threads: owner only
class PartialSums {
 public:
  /// @param store outlives this
  /// @param array its number
  PartialSums(SpillStore& store, std::uint32_t array)
      : store_(store), stored_(store, array | kOfSums) {}

  /// Adds what an `accumulate` or `add` message brings to the sum of its sender.
  /// Errors: those of SpillStore; invalid_argument if the block has another shape
  Status add(const Message& message, Scratch& scratch);
  /// Passes the sums of a block to `use` in the order of the workers, and forgets them.
  /// Errors: those of SpillStore and of `use`
  Status settle(std::uint64_t number, const std::function<Status(const Block&)>& use);
  /// Returns the numbers of the blocks that it holds sums of, in ascending order.
  std::vector<std::uint64_t> numbers() const;
  /// Returns the bytes of a block that it holds sums of.
  std::uint64_t block_bytes(std::uint64_t number) const;
  void clear() noexcept;

 private:
  // The files of sums have other names than those of blocks.
  static constexpr std::uint32_t kOfSums = 0x80000000;
  struct Sum {
    RecordId record = kNoRecord;
    std::uint64_t bytes = 0;
  };

  SpillStore& store_;
  SpillStore::Array stored_;
  std::map<std::pair<std::uint64_t, Rank>, Sum> sums_;  // by block and worker
};

}  // namespace ob::sial
