// Runs symm, hemm, trmm and trsm: sends the square matrix, then the other one panel by panel.

#include <algorithm>
#include <vector>

#include "algorithms/panels/call.hpp"

namespace ob::algorithms {
namespace {

class OneSide {
 public:
  OneSide(PanelCall& call, const PanelShape& shape, const PanelSchedule& schedule)
      : call_(call),
        shape_(shape),
        schedule_(schedule),
        left_(call.is("side", 'L')),
        a_(call.placed("a")),
        b_(call.placed("b")),
        panels_(schedule.panels.size()) {}

  Status run() {
    return call_.run(bytes_needed(shape_), [this] { return submit(); });
  }

 private:
  Block block(unsigned panel) const {
    const Range& range = schedule_.panels[panel];
    return left_ ? Block{0, range.first, shape_.order, range.count}
                 : Block{range.first, 0, range.count, shape_.order};
  }

  Status submit() {
    OB_RETURN_IF_ERROR(call_.place_result());
    for (const PanelStep& step : schedule_.steps) {
      switch (step.kind) {
        case PanelStep::Kind::send_whole:
          OB_RETURN_IF_ERROR(call_.pipeline().place(a_, square_));
          break;
        case PanelStep::Kind::send:
          OB_RETURN_IF_ERROR(
              call_.pipeline().place(part_of(b_, block(step.panel)), panels_[step.panel]));
          break;
        case PanelStep::Kind::call: OB_RETURN_IF_ERROR(compute(step.panel)); break;
        case PanelStep::Kind::fetch: OB_RETURN_IF_ERROR(fetch(step.panel)); break;
      }
    }
    return {};
  }

  Status compute(unsigned panel) {
    const Block at = block(panel);
    PanelCall::Arguments arguments(call_);
    arguments.set(left_ ? "n" : "m", schedule_.panels[panel].count);
    arguments.set("a", all_of(square_, a_.there));
    arguments.set("b", all_of(panels_[panel], part_of(b_, at).there));
    if (!call_.in_place()) arguments.set("c", call_.in_result(at));
    return call_.pipeline().call(call_.routine(), arguments.get());
  }

  Status fetch(unsigned panel) {
    if (call_.in_place()) return call_.fetch(block(panel), panels_[panel].buffer);
    return call_.fetch(block(panel), Triangle::full);
  }

  PanelCall& call_;
  const PanelShape& shape_;
  const PanelSchedule& schedule_;
  const bool left_;
  const PlacedOperand a_;
  const PlacedOperand b_;
  Pipeline::Part square_;
  std::vector<Pipeline::Part> panels_;
};

}  // namespace

Status run_one_side(PanelCall& call, const PanelShape& shape, const PanelSchedule& schedule) {
  return OneSide(call, shape, schedule).run();
}

}  // namespace ob::algorithms
