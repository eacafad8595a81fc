#include "algorithms/tiles.hpp"

#include <algorithm>

#include "algorithms/gemm_pipeline.hpp"
#include "algorithms/panel_pipeline.hpp"
#include "algorithms/tile_call.hpp"

namespace ob::algorithms {
namespace {

// Devices count buffers in units of so much: that much of each may be lost.
constexpr std::uint64_t kUnitBytes = 4096;
constexpr std::uint64_t kMostBuffers = 10;

Status run(const TileCall& call, const Range& diagonal) {
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

Status offload_tiles(Device& device, QueueId queue, const Descriptor& routine,
                     const Argument* arguments, const Range& diagonal, std::uint64_t memory_bytes,
                     Stages& stages, Commits* commits) {
  const std::uint64_t all = std::min(memory_bytes, device.info().memory_bytes);
  const std::uint64_t lost = std::min(all - all / 8, kMostBuffers * kUnitBytes);
  return run({device, queue, routine, arguments, all - lost, stages, commits}, diagonal);
}

}  // namespace ob::algorithms
