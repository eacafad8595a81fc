#pragma once
// What calls in tiles share: slots on the device, and where results wait.

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
  std::uint64_t memory_bytes = 0;  ///< that the call may use on the device
};

/// Parts of C on their way back.   Threads: owner only
class TileLandings {
 public:
  TileLandings(const TileCall& call, const PlacedOperand& c) : call_(call), c_(c) {}

  /// Brings home a block that lies in a tile's buffer.
  Status fetch(Pipeline& pipeline, BufferId tile, const Block& tile_block, const Block& block,
               Triangle triangle);
  /// @pre all are in hand
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

/// A block of a tile as an operand of calls.
DeviceOperand in_tile(BufferId tile, const Block& tile_block, const Block& block,
                      std::uint32_t element_bytes);

/// Two buffers for panels of a factor: one is sent to while the other is used.
class TileSlots {
 public:
  /// @param largest_bytes of a panel
  Status allocate(Pipeline& pipeline, std::uint64_t largest_bytes);
  Status send(Pipeline& pipeline, const OpMatrix& matrix, const Block& block);
  /// The panel that was sent last, from a row on.
  DeviceOperand last(const OpMatrix& matrix, std::uint64_t row) const;

 private:
  Pipeline::Part slots_[2];
  unsigned next_ = 0;
  Block block_;
};

/// What syrk, herk, syr2k or her2k cuts into tiles; an empty diagonal means all of it.
TiledShape rank_tiles(const PanelShape& shape, const Range& diagonal);

Status run_product_tiles(const TileCall& call);
Status run_rank_tiles(const TileCall& call, const Range& diagonal);
Status run_strip_tiles(const TileCall& call);

}  // namespace ob::algorithms
