#pragma once
// Finds the records of an array's blocks by their numbers.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sial/server/spill_store.hpp"

namespace ob::sial {

/// A hash table with open addressing that holds nothing but the places of records: the numbers lie
/// in the records. No block is ever removed alone.
/// Memory:  4 bytes per place, of which at most three quarters are in use
/// Threads: owner only
class BlockIndex {
 public:
  /// @param records those of the blocks; they outlive the index
  explicit BlockIndex(SpillStore::Array& records) : records_(records) {}

  /// Returns the record of a block; kNoRecord if there is none.
  RecordId find(std::uint64_t number) const noexcept;
  /// Returns the record of a block, and adds one that is no block yet if there is none.
  RecordId find_or_add(std::uint64_t number);
  void clear() noexcept;

 private:
  std::size_t place_of(std::uint64_t number) const noexcept;
  void grow();

  SpillStore::Array& records_;
  std::vector<RecordId> places_;  // a power of two, or none
  std::size_t used_ = 0;
};

}  // namespace ob::sial
