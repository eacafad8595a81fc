#include "algorithms/tiles/tiles.hpp"

#include <algorithm>
#include <cmath>

#include "algorithms/device_buffer.hpp"
#include "algorithms/panels/gemm_pipeline.hpp"
#include "algorithms/panels/panels.hpp"
#include "algorithms/tiles/call.hpp"

namespace ob::algorithms {
namespace {

// Each buffer may lose up to one unit of allocation.
constexpr std::uint64_t kMostBuffers = 10;

// The part of a device's memory that tiles can use.
std::uint64_t usable(std::uint64_t memory_bytes) {
  return memory_bytes -
         std::min(memory_bytes - memory_bytes / 8, kMostBuffers * kAllocationUnitBytes);
}

double elements_to(const TiledShape& shape, std::uint64_t memory) {
  const TileSizes sizes = choose_tiles(shape, memory);
  if (!sizes.fits()) return 0;
  const double result = static_cast<double>(shape.rows) * static_cast<double>(shape.cols);
  return tile_traffic(shape, sizes) - result;
}

double elements_to(const PanelShape& shape, std::uint64_t memory) {
  const StripSizes sizes = choose_strips(shape.order, shape.length, shape.in_place ? 1 : 2, memory);
  if (!sizes.fits()) return 0;
  const auto order = static_cast<double>(shape.order);
  const auto length = static_cast<double>(shape.length);
  const double passes = std::ceil(length / static_cast<double>(sizes.width));
  return passes * order * (order + 1) / 2 + order * length;
}

Status run_tiles(const TileCall& call, const Range& diagonal) {
  if (call.routine.base == "gemm") return run_product_tiles(call);
  const auto shape = panel_shape(call.routine, call.arguments);
  if (!shape) {
    return {Code::invalid_argument, std::string(call.routine.name) + " is not computed in tiles"};
  }
  return shape->form == PanelShape::Form::one_side ? run_strip_tiles(call)
                                                   : run_rank_tiles(call, diagonal);
}

}  // namespace

double bytes_of_all(const Descriptor& routine, const Argument* arguments) {
  if (routine.base == "gemm") {
    const ProductShape shape = product_shape(routine, arguments);
    const double c = static_cast<double>(shape.m) * static_cast<double>(shape.n);
    return bytes_sent(shape) + c * shape.element_bytes;
  }
  const auto shape = panel_shape(routine, arguments);
  return shape ? bytes_needed(*shape) : 0;
}

double tile_bytes(const Descriptor& routine, const Argument* arguments, const Range& diagonal,
                  std::uint64_t memory_bytes) {
  const std::uint64_t memory = usable(memory_bytes) / element_bytes(routine.precision);
  const auto shape = panel_shape(routine, arguments);
  double elements = 0;
  if (!shape) {
    const ProductShape product = product_shape(routine, arguments);
    elements = elements_to(TiledShape{product.m, product.n, product.k}, memory);
  } else if (shape->form == PanelShape::Form::one_side) {
    elements = elements_to(*shape, memory);
  } else {
    elements = elements_to(rank_tiles(*shape, diagonal), memory);
  }
  return elements * element_bytes(routine.precision);
}

Status offload_tiles(const CallContext& context, const Range& diagonal,
                     std::uint64_t memory_bytes) {
  const std::uint64_t all = std::min(memory_bytes, context.device.info().memory_bytes);
  TileCall call{context, usable(all)};
  call.residency = nullptr;  // tiles use all of the memory
  return run_tiles(call, diagonal);
}

}  // namespace ob::algorithms
