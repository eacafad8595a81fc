#include "offload/call_cut.hpp"

#include <algorithm>

#include "algorithms/panels/gemm_pipeline.hpp"
#include "algorithms/panels/panels.hpp"
#include "algorithms/tiles/tiles.hpp"

namespace ob::offload {
namespace {

// A call with a shorter edge ends before a second panel could be sent.
constexpr std::uint64_t kLeastPipelined = 512;

// The edge that stays whole has to be only as long as that of a tile which runs at the device's
// rate: cutting the other edge does not make it shorter. Either operand of one_side may be cut.
bool is_cut(const algorithms::PanelShape& shape) noexcept {
  const bool one_side = shape.form == algorithms::PanelShape::Form::one_side;
  const std::uint64_t cut = one_side ? std::max(shape.order, shape.length) : shape.order;
  return cut >= kLeastPipelined && std::min(shape.order, shape.length) >= algorithms::kLeastEdge;
}

bool is_cut(const algorithms::ProductShape& shape) noexcept {
  return std::min({shape.m, shape.n, shape.k}) >= kLeastPipelined;
}

}  // namespace

double device_share(const Descriptor& routine) noexcept {
  const bool single = routine.precision == Precision::s || routine.precision == Precision::c;
  return (single ? 2.0 : 1.0) * routine.efficiency;
}

std::optional<algorithms::ProductShape> product_to_cut(const Descriptor& routine,
                                                       const Argument* arguments) {
  if (routine.base != "gemm") return std::nullopt;
  const algorithms::ProductShape shape = algorithms::product_shape(routine, arguments);
  return is_cut(shape) ? std::optional(shape) : std::nullopt;
}

std::optional<algorithms::PanelShape> panels_to_cut(const Descriptor& routine,
                                                    const Argument* arguments) {
  const auto shape = algorithms::panel_shape(routine, arguments);
  return shape && is_cut(*shape) ? shape : std::nullopt;
}

std::optional<double> bytes_in_panels(const Descriptor& routine,
                                      const Argument* arguments) noexcept {
  if (const auto shape = product_to_cut(routine, arguments)) return algorithms::bytes_sent(*shape);
  if (const auto shape = panels_to_cut(routine, arguments)) return algorithms::bytes_sent(*shape);
  return std::nullopt;
}

}  // namespace ob::offload
