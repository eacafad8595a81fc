// Runs symm, hemm, trmm and trsm. Columns of B (rows if the square matrix is on the right) stay on
// the device while strips of the square matrix pass through it.

#include <deque>

#include "algorithms/panels/call.hpp"
#include "algorithms/panels/panels.hpp"
#include "algorithms/tiles/call.hpp"
#include "algorithms/tiles/products_split.hpp"

namespace ob::algorithms {
namespace {

// The same call for some columns, with the memory that it needs until the whole result has arrived.
struct Column {
  Column(const TileCall& whole, const Range& range, CommitsLater& later)
      : part(columns_of_call(whole.routine, whole.arguments, range)),
        call({.device = whole.device,
              .queue = whole.queue,
              .routine = whole.routine,
              .arguments = part.arguments.items,
              .timings = whole.timings,
              .commits = &later}) {}

  Status run(const TileCall& whole, unsigned strips) {
    const PanelShape shape = *panel_shape(whole.routine, part.arguments.items);
    PanelSchedule schedule = schedule_strips(shape, strips);
    schedule.two_slots = true;
    OB_RETURN_IF_ERROR(run_strips(call, shape, schedule));
    call.leave_device();
    return {};
  }

  CallPart part;
  PanelCall call;
};

}  // namespace

Status run_strip_tiles(const TileCall& call) {
  const PanelShape shape = *panel_shape(call.routine, call.arguments);
  const StripSizes sizes = choose_strips(shape.order, shape.length, shape.in_place ? 1 : 2,
                                         call.memory_bytes / shape.element_bytes);
  if (!sizes.fits()) return no_room(call.device, call.memory_bytes);
  const auto strips = static_cast<unsigned>((shape.order + sizes.depth - 1) / sizes.depth);
  CommitsLater later;
  std::deque<Column> columns;
  for (std::uint64_t at = 0; at < shape.length; at += sizes.width) {
    const Range range{at, std::min(sizes.width, shape.length - at)};
    OB_RETURN_IF_ERROR(columns.emplace_back(call, range, later).run(call, strips));
  }
  return commit_or_wait(call.commits, [&] { later.commit(); });
}

}  // namespace ob::algorithms
