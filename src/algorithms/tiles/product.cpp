// Runs gemm in tiles of C.

#include <algorithm>

#include "algorithms/gemm_arguments.hpp"
#include "algorithms/panels/gemm_pipeline.hpp"
#include "algorithms/tiles/call.hpp"
#include "algorithms/tiles/indices.hpp"

namespace ob::algorithms {
namespace {

using namespace gemm_argument;

class ProductTiles {
 public:
  ProductTiles(const TileCall& call, const TileSizes& sizes)
      : call_(call),
        sizes_(sizes),
        shape_(product_shape(call.routine, call.arguments)),
        a_{call.placed("a"), !call.is("transa", 'N')},
        b_{call.placed("b"), !call.is("transb", 'N')},
        c_(call.placed("c")),
        landings_(call, c_),
        pipeline_(call) {}

  Status run() {
    return pipeline_.run(
        needed_bytes(), [this] { return submit(); }, [this] { landings_.commit(); });
  }

 private:
  static Block block_of_a(const RowRange& rows, const DepthRange& panel) {
    return {rows.first.value(), panel.first.value(), rows.count, panel.count};
  }
  static Block block_of_b(const DepthRange& panel, const ColumnRange& cols) {
    return {panel.first.value(), cols.first.value(), panel.count, cols.count};
  }

  double needed_bytes() const {
    const std::uint64_t panels = 2 * sizes_.depth * (sizes_.rows + sizes_.cols);
    return static_cast<double>(sizes_.rows * sizes_.cols + panels) * shape_.element_bytes;
  }

  Status submit() {
    const std::uint64_t element = shape_.element_bytes;
    OB_RETURN_IF_ERROR(pipeline_.allocate(sizes_.rows * sizes_.cols * element, tile_));
    OB_RETURN_IF_ERROR(a_slots_.allocate(pipeline_, sizes_.rows * sizes_.depth * element));
    OB_RETURN_IF_ERROR(b_slots_.allocate(pipeline_, sizes_.depth * sizes_.cols * element));
    bool first = true;
    const RowIndex end_row(shape_.m);
    const ColumnIndex end_col(shape_.n);
    for (ColumnIndex col; col < end_col; col = col + sizes_.cols) {
      for (RowIndex row; row < end_row; row = row + sizes_.rows) {
        if (!first) OB_RETURN_IF_ERROR(pipeline_.hold_calls());
        first = false;
        OB_RETURN_IF_ERROR(
            compute(range_from(row, sizes_.rows, end_row), range_from(col, sizes_.cols, end_col)));
      }
    }
    return {};
  }

  Status compute(const RowRange& rows, const ColumnRange& cols) {
    const Block block{rows.first.value(), cols.first.value(), rows.count, cols.count};
    OB_RETURN_IF_ERROR(
        multiply(rows, cols, in_tile(tile_.buffer, block, block, shape_.element_bytes)));
    return landings_.fetch(pipeline_, tile_.buffer, block, block, Triangle::full);
  }

  Status multiply(const RowRange& rows, const ColumnRange& cols, const DeviceOperand& tile) {
    Argument arguments[kMaxArguments];
    std::copy_n(call_.arguments, call_.routine.kinds.size(), arguments);
    arguments[kM].dim = static_cast<std::int64_t>(rows.count);
    arguments[kN].dim = static_cast<std::int64_t>(cols.count);
    arguments[kC].device = tile;
    const DepthIndex end_depth(shape_.k);
    for (DepthIndex k; k < end_depth; k = k + sizes_.depth) {
      const DepthRange panel = range_from(k, sizes_.depth, end_depth);
      OB_RETURN_IF_ERROR(a_slots_.send(pipeline_, a_, block_of_a(rows, panel)));
      OB_RETURN_IF_ERROR(b_slots_.send(pipeline_, b_, block_of_b(panel, cols)));
      arguments[kK].dim = static_cast<std::int64_t>(panel.count);
      arguments[kBeta].scalar = {k.value() > 0 ? 1.0 : 0.0, 0};
      arguments[kA].device = a_slots_.last(a_, rows.first.value());
      arguments[kB].device = b_slots_.last(b_, k.value());
      OB_RETURN_IF_ERROR(pipeline_.call(call_.routine, arguments));
    }
    return {};
  }

  const TileCall& call_;
  const TileSizes sizes_;
  const ProductShape shape_;
  const OpMatrix a_;
  const OpMatrix b_;
  const PlacedOperand c_;
  TileLandings landings_;
  Pipeline::Part tile_;
  TileSlots a_slots_;
  TileSlots b_slots_;
  Pipeline pipeline_;  // last: destroyed before the memory that reads may still write to
};

}  // namespace

Status run_product_tiles(const TileCall& call) {
  const ProductShape shape = product_shape(call.routine, call.arguments);
  const TileSizes sizes =
      choose_tiles({shape.m, shape.n, shape.k}, call.memory_bytes / shape.element_bytes);
  if (!sizes.fits()) return no_room(call.device, call.memory_bytes);
  return ProductTiles(call, sizes).run();
}

}  // namespace ob::algorithms
