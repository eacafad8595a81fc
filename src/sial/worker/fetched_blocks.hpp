#pragma once
// The blocks of distributed arrays that a worker holds or has asked for.

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sial/blocks/block.hpp"
#include "sial/worker/counts.hpp"

namespace ob::sial {

struct FetchedBlock {
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  ConstBlockPtr block;            ///< nullptr: it has not arrived, or is absent
  std::uint64_t request = 0;      ///< the last one
  std::uint64_t epoch = kNever;   ///< of the last get; kNever: it was only fetched ahead
  std::uint32_t instruction = 0;  ///< of that get
  std::uint32_t access = 0;       ///< number of the get that it was requested for
  std::uint64_t last_use = 0;     ///< for eviction; larger is later
  std::int64_t sent_ns = 0;       ///< time of the request
  std::int64_t arrived_ns = 0;    ///< time of the answer
  std::int64_t wait_from_ns = 0;  ///< time at which a statement began to wait for it; 0: none
  bool pending = false;           ///< the answer has not arrived
  bool granted = false;           ///< a get is in force for the present iteration
  bool ahead = false;             ///< it was requested by the look-ahead
  bool used = false;              ///< a statement has read it
};

/// Threads: owner only
class FetchedBlocks {
 public:
  /// @param limit_bytes of blocks that are kept; 0: no limit
  FetchedBlocks(std::size_t arrays, std::uint64_t limit_bytes, std::vector<GetCounts>& counts);

  /// Returns the entry of a block, nullptr if there is none.
  FetchedBlock* find(std::uint32_t array, std::uint64_t number) noexcept;
  /// Returns the entry of a block, and makes it if there is none. Pointers stay valid until the
  /// block is forgotten.
  FetchedBlock& entry(std::uint32_t array, std::uint64_t number) { return blocks_[array][number]; }
  /// Puts a block into its entry, and drops others if there are too many.
  void arrive(FetchedBlock& entry, ConstBlockPtr block);
  /// Notes that a statement reads a block.
  void use(FetchedBlock& entry) noexcept { entry.last_use = ++clock_; }
  /// True while more blocks may be fetched ahead.
  bool has_room() const noexcept { return limit_bytes_ == 0 || bytes_ < limit_bytes_ / 4 * 3; }

  /// Returns the highest number of bytes that were kept.
  std::uint64_t peak_bytes() const noexcept { return peak_bytes_; }

  /// Calls `visit(array, number, fetched)` for each entry.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::uint32_t array = 0; array < blocks_.size(); ++array) {
      for (const auto& [number, fetched] : blocks_[array]) visit(array, number, fetched);
    }
  }

  void forget(std::uint32_t array, std::uint64_t number);
  void forget_all(std::uint32_t array);
  void forget_all();
  /// Ends the grants of all blocks.
  void end_grants() noexcept;

 private:
  using Blocks = std::unordered_map<std::uint64_t, FetchedBlock>;
  struct Candidate;

  void drop(const FetchedBlock& entry) noexcept;
  void evict();

  const std::uint64_t limit_bytes_;
  std::vector<GetCounts>& counts_;
  std::vector<Blocks> blocks_;
  std::uint64_t bytes_ = 0;
  std::uint64_t peak_bytes_ = 0;
  std::uint64_t clock_ = 0;
};

}  // namespace ob::sial
