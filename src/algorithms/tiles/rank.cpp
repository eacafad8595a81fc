// Runs syrk, herk, syr2k and her2k in tiles of C. A group of tiles covers columns of a lower
// triangle, from the diagonal down, or rows of an upper triangle, from the diagonal to the right.
//
// The first tile of each group contains a block of the diagonal. The rest of this tile is a product
// of the same panel of op(A) with the first rows of the panel, so one panel gives the whole tile.
// Each further tile is a product of two panels.

#include <algorithm>
#include <optional>

#include "algorithms/gemm_arguments.hpp"
#include "algorithms/panels/call.hpp"
#include "algorithms/panels/panels.hpp"
#include "algorithms/tiles/call.hpp"
#include "algorithms/tiles/indices.hpp"

namespace ob::algorithms {
namespace {

class RankTiles {
 public:
  RankTiles(const TileCall& call, const PanelShape& shape, const TileSizes& sizes,
            const OrderRange& diagonal)
      : call_(call),
        shape_(shape),
        sizes_(sizes),
        diagonal_(diagonal),
        hermitian_(call.routine.base.substr(0, 3) == "her"),
        lower_(call.is("uplo", 'L')),
        c_(call.placed("c")),
        landings_(call, c_),
        a_(call, "a"),
        pipeline_(call) {
    if (shape.form == PanelShape::Form::rank_2k) b_.emplace(call, "b");
  }

  Status run() {
    return pipeline_.run(
        needed_bytes(), [this] { return submit(); }, [this] { landings_.commit(); });
  }

 private:
  // A or B, with slots for the panels of a tile's long side and of its range of the diagonal.
  struct Factor {
    Factor(const TileCall& call, std::string_view name)
        : matrix{call.placed(name), !call.is("trans", 'N')} {}
    OpMatrix matrix;
    TileSlots longs;
    TileSlots shorts;
  };
  // A tile: its range of the diagonal, and its range along the other dimension of C.
  struct Tile {
    OrderRange at;
    OrderRange along;
    bool is_first() const { return at.first == along.first; }
  };

  double needed_bytes() const {
    const std::uint64_t factors = b_ ? 2 : 1;
    const std::uint64_t panels = 2 * factors * sizes_.depth * (sizes_.rows + sizes_.cols);
    return static_cast<double>(sizes_.rows * sizes_.cols + panels) * shape_.element_bytes;
  }

  Status submit() {
    OB_RETURN_IF_ERROR(pipeline_.allocate(sizes_.rows * sizes_.cols * shape_.element_bytes, tile_));
    OB_RETURN_IF_ERROR(allocate(a_));
    if (b_) OB_RETURN_IF_ERROR(allocate(*b_));
    bool first = true;
    const OrderIndex end(shape_.order);
    for (OrderIndex at = diagonal_.first; at < diagonal_.end(); at = at + sizes_.cols) {
      const OrderRange on = range_from(at, sizes_.cols, diagonal_.end());
      for (OrderIndex along = at; along < end; along = along + sizes_.rows) {
        if (!first) OB_RETURN_IF_ERROR(pipeline_.hold_calls());
        first = false;
        const Tile tile{on, range_from(along, sizes_.rows, end)};
        OB_RETURN_IF_ERROR(compute(tile));
        OB_RETURN_IF_ERROR(fetch(tile));
      }
    }
    return {};
  }

  Status allocate(Factor& factor) {
    const std::uint64_t each = sizes_.depth * shape_.element_bytes;
    OB_RETURN_IF_ERROR(factor.longs.allocate(pipeline_, sizes_.rows * each));
    return factor.shorts.allocate(pipeline_, sizes_.cols * each);
  }

  // The block of C for the ranges of a tile.
  Block block(const OrderRange& at, const OrderRange& along) const {
    const OrderRange& rows = lower_ ? along : at;
    const OrderRange& cols = lower_ ? at : along;
    return {rows.first.value(), cols.first.value(), rows.count, cols.count};
  }
  Block block(const Tile& tile) const { return block(tile.at, tile.along); }
  // The range of the first tile without the block of the diagonal.
  static OrderRange beyond(const Tile& tile) {
    return {tile.at.end(), tile.along.count - tile.at.count};
  }

  Status compute(const Tile& tile) {
    const DepthIndex end(shape_.length);
    for (DepthIndex k; k < end; k = k + sizes_.depth) {
      const DepthRange panel = range_from(k, sizes_.depth, end);
      OB_RETURN_IF_ERROR(send(a_, tile, panel));
      if (b_) OB_RETURN_IF_ERROR(send(*b_, tile, panel));
      const Complex beta{k.value() > 0 ? 1.0 : 0.0, 0};
      if (tile.is_first()) OB_RETURN_IF_ERROR(compute_diagonal(tile, panel, beta));
      const OrderRange rest = tile.is_first() ? beyond(tile) : tile.along;
      if (rest.count > 0) OB_RETURN_IF_ERROR(compute(tile, rest, panel, beta));
    }
    return {};
  }

  Status send(Factor& factor, const Tile& tile, const DepthRange& panel) {
    const auto rows = [&](const OrderRange& range) {
      return Block{range.first.value(), panel.first.value(), range.count, panel.count};
    };
    OB_RETURN_IF_ERROR(factor.longs.send(pipeline_, factor.matrix, rows(tile.along)));
    if (tile.is_first()) return {};
    return factor.shorts.send(pipeline_, factor.matrix, rows(tile.at));
  }

  Status compute_diagonal(const Tile& tile, const DepthRange& panel, Complex beta) {
    CallArguments given;
    Argument* const items = given.items;
    std::copy_n(call_.arguments, call_.routine.kinds.size(), items);
    const auto named = [&](std::string_view name) -> Argument& {
      return items[argument_position(call_.routine, name)];
    };
    named("n").dim = static_cast<std::int64_t>(tile.at.count);
    named("k").dim = static_cast<std::int64_t>(panel.count);
    named("beta").scalar = beta;
    named("a").device = a_.longs.last(a_.matrix, tile.at.first.value());
    if (b_) named("b").device = b_->longs.last(b_->matrix, tile.at.first.value());
    named("c").device =
        in_tile(tile_.buffer, block(tile), block(tile.at, tile.at), shape_.element_bytes);
    return pipeline_.call(call_.routine, items);
  }

  // Computes alpha op(A)_i op(A)_j^T or, with two factors,
  // alpha op(A)_i op(B)_j^T + alpha' op(B)_i op(A)_j^T with alpha' = alpha. Hermitian routines use
  // ^H instead of ^T and alpha' = conj(alpha).
  Status compute(const Tile& tile, const OrderRange& along, const DepthRange& panel, Complex beta) {
    Complex alpha = call_.argument("alpha").scalar;
    if (!b_) return multiply(tile, along, panel, {alpha, a_, a_, beta});
    OB_RETURN_IF_ERROR(multiply(tile, along, panel, {alpha, a_, *b_, beta}));
    if (hermitian_) alpha.im = -alpha.im;
    return multiply(tile, along, panel, {alpha, *b_, a_, {1, 0}});
  }

  // C := alpha left right^T + beta C
  struct Product {
    Complex alpha;
    const Factor& left;
    const Factor& right;
    Complex beta;
  };
  Status multiply(const Tile& tile, const OrderRange& along, const DepthRange& panel,
                  const Product& product) {
    using namespace gemm_argument;
    const char flipped = hermitian_ ? 'C' : 'T';
    const bool stored = call_.is("trans", 'N');
    const OrderRange& rows = lower_ ? along : tile.at;
    const OrderRange& cols = lower_ ? tile.at : along;
    const Block to = block(tile.at, along);
    Argument items[kMaxArguments];
    items[kTransA].flag = stored ? 'N' : flipped;
    items[kTransB].flag = stored ? flipped : 'N';
    items[kM].dim = static_cast<std::int64_t>(to.rows);
    items[kN].dim = static_cast<std::int64_t>(to.cols);
    items[kK].dim = static_cast<std::int64_t>(panel.count);
    items[kAlpha].scalar = product.alpha;
    items[kA].device = panel_of(product.left, tile, rows);
    items[kB].device = panel_of(product.right, tile, cols);
    items[kBeta].scalar = product.beta;
    items[kC].device = in_tile(tile_.buffer, block(tile), to, shape_.element_bytes);
    return pipeline_.call(gemm_of(call_.routine.precision), items);
  }

  // The rows of the diagonal's range have their own slots, except in the first tile.
  static DeviceOperand panel_of(const Factor& factor, const Tile& tile, const OrderRange& rows) {
    const bool is_short = !tile.is_first() && rows.first == tile.at.first;
    return (is_short ? factor.shorts : factor.longs).last(factor.matrix, rows.first.value());
  }

  Status fetch(const Tile& tile) {
    const Block all = block(tile);
    if (!tile.is_first()) {
      return landings_.fetch(pipeline_, tile_.buffer, all, all, Triangle::full);
    }
    OB_RETURN_IF_ERROR(landings_.fetch(pipeline_, tile_.buffer, all, block(tile.at, tile.at),
                                       lower_ ? Triangle::lower : Triangle::upper));
    return landings_.fetch(pipeline_, tile_.buffer, all, block(tile.at, beyond(tile)),
                           Triangle::full);
  }

  const TileCall& call_;
  const PanelShape shape_;
  const TileSizes sizes_;  // rows: along the other dimension; cols: along the diagonal
  const OrderRange diagonal_;
  const bool hermitian_;
  const bool lower_;
  const PlacedOperand c_;
  TileLandings landings_;
  Factor a_;
  std::optional<Factor> b_;
  Pipeline::Part tile_;
  Pipeline pipeline_;  // last: destroyed before the memory that reads may still write to
};

}  // namespace

TiledShape rank_tiles(const PanelShape& shape, const Range& diagonal) {
  const Range part = diagonal.count > 0 ? diagonal : Range{0, shape.order};
  return {shape.order - part.first, part.count, shape.length,
          shape.form == PanelShape::Form::rank_2k ? 2U : 1U};
}

Status run_rank_tiles(const TileCall& call, const Range& diagonal) {
  const PanelShape shape = *panel_shape(call.routine, call.arguments);
  const Range part = diagonal.count > 0 ? diagonal : Range{0, shape.order};
  TileSizes sizes = choose_tiles(rank_tiles(shape, part), call.memory_bytes / shape.element_bytes);
  if (!sizes.fits()) return no_room(call.device, call.memory_bytes);
  // The first tile contains its whole block of the diagonal.
  sizes.cols = std::min(sizes.cols, sizes.rows);
  return RankTiles(call, shape, sizes, {OrderIndex(part.first), part.count}).run();
}

}  // namespace ob::algorithms
