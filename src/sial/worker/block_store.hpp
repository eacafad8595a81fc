#pragma once
// The blocks that a worker holds by itself: statics, temps, locals and regions of contiguous
// locals.

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "sial/blocks/block.hpp"
#include "sial/worker/geometry.hpp"

namespace ob::sial {

/// A region of segments of a contiguous local, dense and column-major.
struct LocalRegion {
  std::vector<std::int64_t> bounds;  ///< lower and upper segment of each dimension
  BlockPtr block;
};

/// Threads: owner only
class BlockStore {
 public:
  BlockStore(const Program& program, const Geometry& geometry, BlockPool& pool);

  /// Allocates the statics, filled with zeros.   Errors: out_of_memory
  Status allocate_statics();
  BlockPtr& whole_static(std::uint32_t array) noexcept { return statics_[array]; }
  const BlockPtr& whole_static(std::uint32_t array) const noexcept { return statics_[array]; }

  /// Returns a pointer to the block, nullptr if there is none. For temps and locals.
  BlockPtr* find(std::uint32_t array, std::uint64_t number) noexcept;
  /// Adds an uninitialised block. `depth`: the number of loops around the first write of a temp.
  Result<BlockPtr*> add(const BlockPlace& place, std::size_t depth);
  void remove(std::uint32_t array, std::uint64_t number) noexcept;
  void remove_all(std::uint32_t array) noexcept;
  /// Ends the temps that were first written in an iteration of the loop number `depth` from
  /// outside.
  void end_iteration(std::size_t depth) noexcept;
  /// Says whether there are such temps.
  bool ends_with(std::size_t depth) const noexcept {
    return depth != 0 && depth <= ending_.size() && !ending_[depth - 1].empty();
  }

  /// The regions of a contiguous local.
  std::vector<LocalRegion>& regions(std::uint32_t array) noexcept { return regions_[array]; }
  const std::vector<LocalRegion>& regions(std::uint32_t array) const noexcept {
    return regions_[array];
  }
  /// Returns the allocated region that contains `bounds`, nullptr if there is none.
  LocalRegion* region_around(std::uint32_t array, const std::int64_t* bounds) noexcept;
  /// Returns the view of the region `bounds` inside an allocated one.
  View region_view(std::uint32_t array, LocalRegion& region,
                   const std::int64_t* bounds) const noexcept;

  /// A temp that ends with an iteration of the loop number `depth` from outside.
  struct Ending {
    std::uint64_t depth = 0;
    std::uint64_t number = 0;
    std::uint32_t array = 0;
  };
  std::vector<Ending> ending() const;
  void set_ending(const std::vector<Ending>& ending);
  /// Adds a block. A temp needs a place in set_ending() as well.
  void insert(std::uint32_t array, std::uint64_t number, BlockPtr block) {
    hold(block->bytes());
    blocks_[array][number] = std::move(block);
  }

  /// Calls `visit(array, number, pointer)` for each temp and local.
  template <class Visit>
  void for_each_pointer(Visit visit) const {
    for (std::uint32_t array = 0; array < blocks_.size(); ++array) {
      for (const auto& [number, block] : blocks_[array]) visit(array, number, block);
    }
  }
  /// Adds a region, or removes one, which lies in regions(array).
  void add_region(std::uint32_t array, LocalRegion region);
  void remove_region(std::uint32_t array, std::vector<LocalRegion>::iterator region);

  /// Returns the highest number of bytes that were held. Copies that messages hold do not count.
  std::uint64_t peak_bytes() const noexcept { return peak_bytes_; }

  /// Calls `visit(array, number, block)` for each temp and local.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::uint32_t array = 0; array < blocks_.size(); ++array) {
      for (const auto& [number, block] : blocks_[array]) visit(array, number, *block);
    }
  }

 private:
  void hold(std::uint64_t bytes) noexcept;

  const Program& program_;
  const Geometry& geometry_;
  BlockPool& pool_;
  std::vector<BlockPtr> statics_;
  std::vector<std::unordered_map<std::uint64_t, BlockPtr>> blocks_;
  std::vector<std::vector<LocalRegion>> regions_;
  // Per loop around, from outside: the temps that end with its iteration.
  std::vector<std::vector<std::pair<std::uint32_t, std::uint64_t>>> ending_;
  std::uint64_t bytes_ = 0;
  std::uint64_t peak_bytes_ = 0;
};

}  // namespace ob::sial
