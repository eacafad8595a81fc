// Runs gemm in tiles of C.

#include <algorithm>

#include "algorithms/gemm_arguments.hpp"
#include "algorithms/panels/gemm_pipeline.hpp"
#include "algorithms/tiles/call.hpp"

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
    for (std::uint64_t col = 0; col < shape_.n; col += sizes_.cols) {
      for (std::uint64_t row = 0; row < shape_.m; row += sizes_.rows) {
        if (!first) OB_RETURN_IF_ERROR(pipeline_.hold_calls());
        first = false;
        const Block block{row, col, std::min(sizes_.rows, shape_.m - row),
                          std::min(sizes_.cols, shape_.n - col)};
        OB_RETURN_IF_ERROR(multiply(block));
        OB_RETURN_IF_ERROR(landings_.fetch(pipeline_, tile_.buffer, block, block, Triangle::full));
      }
    }
    return {};
  }

  Status multiply(const Block& block) {
    Argument arguments[kMaxArguments];
    std::copy_n(call_.arguments, call_.routine.kinds.size(), arguments);
    arguments[kM].dim = static_cast<std::int64_t>(block.rows);
    arguments[kN].dim = static_cast<std::int64_t>(block.cols);
    arguments[kC].device = in_tile(tile_.buffer, block, block, shape_.element_bytes);
    for (std::uint64_t k = 0; k < shape_.k; k += sizes_.depth) {
      const std::uint64_t depth = std::min(sizes_.depth, shape_.k - k);
      OB_RETURN_IF_ERROR(a_slots_.send(pipeline_, a_, {block.row, k, block.rows, depth}));
      OB_RETURN_IF_ERROR(b_slots_.send(pipeline_, b_, {k, block.col, depth, block.cols}));
      arguments[kK].dim = static_cast<std::int64_t>(depth);
      arguments[kBeta].scalar = {k > 0 ? 1.0 : 0.0, 0};
      arguments[kA].device = a_slots_.last(a_, block.row);
      arguments[kB].device = b_slots_.last(b_, k);
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
