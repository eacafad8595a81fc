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
  /// @param array its number
  explicit PartialSums(std::uint32_t array) : stored_(array | kOfSums) {}

  /// Adds what an `accumulate` or `add` message brings to the sum of its sender.
  /// Errors: those of SpillStore; invalid_argument if the block has another shape
  Status add(SpillStore& store, const Message& message, Scratch& scratch);
  /// True if workers have added to the block, and settle() has not followed.
  bool holds(std::uint64_t number) const;
  /// Passes the sums of a block to `use` in the order of the workers, and forgets them.
  /// Errors: those of SpillStore and of `use`
  Status settle(SpillStore& store, std::uint64_t number,
                const std::function<Status(const Block&)>& use);
  /// Returns the numbers of the blocks that it holds sums of, in ascending order.
  std::vector<std::uint64_t> numbers() const;
  /// Returns the bytes of a block that it holds sums of.
  std::uint64_t block_bytes(std::uint64_t number) const;
  void clear(SpillStore& store) noexcept;

 private:
  // The files of sums have other names than those of blocks.
  static constexpr std::uint32_t kOfSums = 0x80000000;
  struct Sum {
    SpillStore::Entry entry;
    std::uint64_t bytes = 0;
  };

  SpillStore::Array stored_;
  std::map<std::pair<std::uint64_t, Rank>, Sum> sums_;  // by block and worker
};

}  // namespace ob::sial
