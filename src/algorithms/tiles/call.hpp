#pragma once
// The common part of all calls in tiles: slots on the device, and memory for pending results.

#include <cstdint>
#include <deque>

#include "algorithms/call_context.hpp"
#include "algorithms/panels/op_matrix.hpp"
#include "algorithms/panels/pipeline.hpp"
#include "algorithms/panels/result_landing.hpp"
#include "algorithms/panels/schedule.hpp"
#include "algorithms/tiles/sizes.hpp"
#include "base/status.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::algorithms {

/// A call in tiles.   @pre residency == nullptr
struct TileCall : CallContext {
  std::uint64_t memory_bytes = 0;  ///< device memory that the call may use
};

/// The parts of C that return to the host.   Threads: owner only
class TileLandings {
 public:
  TileLandings(const TileCall& call, const PlacedOperand& c) : call_(call), c_(c) {}

  /// Fetches a block that lies in the buffer of a tile.
  Status fetch(Pipeline& pipeline, BufferId tile, const Block& tile_block, const Block& block,
               Triangle triangle);
  /// Writes the results to C.
  /// @pre all parts have arrived
  void commit();

 private:
  struct Landed {
    ResultLanding landing;
    bool on_diagonal;
  };
  const TileCall& call_;
  const PlacedOperand& c_;
  std::deque<Landed> landed_;
};

/// A block of a tile as an operand of a call.
DeviceOperand in_tile(BufferId tile, const Block& tile_block, const Block& block,
                      std::uint32_t element_bytes);

/// Two buffers for panels of a factor: one receives a panel while calls use the other.
class TileSlots {
 public:
  /// @param largest_bytes size of the largest panel
  Status allocate(Pipeline& pipeline, std::uint64_t largest_bytes);
  Status send(Pipeline& pipeline, const OpMatrix& matrix, const Block& block);
  /// The last panel that was sent, starting at a row.
  DeviceOperand last(const OpMatrix& matrix, std::uint64_t row) const;

 private:
  Pipeline::Part slots_[2];
  unsigned next_ = 0;
  Block block_;
};

/// The shape that syrk, herk, syr2k or her2k cuts into tiles. An empty diagonal means all of it.
TiledShape rank_tiles(const PanelShape& shape, const Range& diagonal);

Status run_product_tiles(const TileCall& call);
Status run_rank_tiles(const TileCall& call, const Range& diagonal);
Status run_strip_tiles(const TileCall& call);

}  // namespace ob::algorithms
