#include "algorithms/panels/panels.hpp"

#include <algorithm>

#include "algorithms/panels/call.hpp"

namespace ob::algorithms {
namespace {

struct Row {
  std::string_view base;
  PanelShape::Form form;
};
constexpr Row kRows[] = {
    {"symm", PanelShape::Form::one_side}, {"hemm", PanelShape::Form::one_side},
    {"trmm", PanelShape::Form::one_side}, {"trsm", PanelShape::Form::one_side},
    {"syrk", PanelShape::Form::rank_k},   {"herk", PanelShape::Form::rank_k},
    {"syr2k", PanelShape::Form::rank_2k}, {"her2k", PanelShape::Form::rank_2k},
};

}  // namespace

std::optional<PanelShape> panel_shape(const Descriptor& routine, const Argument* arguments) {
  const auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& r) { return r.base == routine.base; });
  if (routine.library != Library::blas || row == std::end(kRows)) return std::nullopt;
  const auto named = [&](std::string_view name) -> const Argument& {
    return arguments[argument_position(routine, name)];
  };
  const auto dim = [&](std::string_view name) {
    return static_cast<std::uint64_t>(named(name).dim);
  };
  PanelShape shape;
  shape.form = row->form;
  if (row->form == PanelShape::Form::one_side) {
    const bool left = named("side").flag == 'L';
    shape.order = dim(left ? "m" : "n");
    shape.length = dim(left ? "n" : "m");
    const StripOrder order = strip_order(routine, arguments);
    shape.backward = order.backward;
    shape.late = order.late;
    shape.products_per_strip = order.pulls && order.pushes ? 2 : 1;
  } else {
    shape.order = dim("n");
    shape.length = dim("k");
  }
  shape.element_bytes = element_bytes(routine.precision);
  shape.flop = routine.flops(arguments);
  shape.in_place = argument_position(routine, "c") == routine.kinds.size();
  return shape;
}

Status offload_panels(const CallContext& context, const PanelSchedule& schedule) {
  const std::optional<PanelShape> shape = panel_shape(context.routine, context.arguments);
  if (!shape) {
    return {Code::invalid_argument,
            std::string(context.routine.name) + " is not computed in panels"};
  }
  PanelCall call(context);
  if (schedule.in_strips) return run_strips(call, *shape, schedule);
  return shape->form == PanelShape::Form::one_side ? run_one_side(call, *shape, schedule)
                                                   : run_rank(call, *shape, schedule);
}

}  // namespace ob::algorithms
