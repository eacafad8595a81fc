// Runs syrk, herk, syr2k and her2k: computes tiles of C's triangle from row panels of op(A) and
// op(B).

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "algorithms/panels/call.hpp"

namespace ob::algorithms {
namespace {

class RankUpdate {
 public:
  RankUpdate(PanelCall& call, const PanelShape& shape, const PanelSchedule& schedule)
      : call_(call),
        shape_(shape),
        schedule_(schedule),
        hermitian_(call.routine().base.substr(0, 3) == "her"),
        stored_(call.is("trans", 'N')),
        triangle_(call.is("uplo", 'L') ? Triangle::lower : Triangle::upper),
        a_(call, "a", schedule) {
    if (shape.form == PanelShape::Form::rank_2k) b_.emplace(call, "b", schedule);
  }

  Status run() {
    return call_.run(bytes_needed(shape_), [this] { return submit(); });
  }

 private:
  // A or B, cut into panels.
  struct Factor {
    Factor(const PanelCall& call, std::string_view name, const PanelSchedule& schedule)
        : whole(call.placed(name)), panels(schedule.panels.size()) {}
    PlacedOperand whole;
    std::vector<Pipeline::Part> panels;
  };

  // The block of the stored A that holds a row panel of op(A).
  Block block(unsigned panel) const {
    const Range& range = schedule_.panels[panel];
    return stored_ ? Block{range.first, 0, range.count, shape_.length}
                   : Block{0, range.first, shape_.length, range.count};
  }
  DeviceOperand device(const Factor& factor, unsigned panel) const {
    return all_of(factor.panels[panel], part_of(factor.whole, block(panel)).there);
  }
  // The panels that determine the rows and the columns of a tile.
  unsigned row_panel(const PanelStep& step) const {
    return triangle_ == Triangle::lower ? step.panel : step.other;
  }
  unsigned column_panel(const PanelStep& step) const {
    return triangle_ == Triangle::lower ? step.other : step.panel;
  }
  Block tile(const PanelStep& step) const {
    const Range& rows = schedule_.panels[row_panel(step)];
    const Range& cols = schedule_.panels[column_panel(step)];
    return {rows.first, cols.first, rows.count, cols.count};
  }

  Status submit() {
    OB_RETURN_IF_ERROR(call_.place_result());
    for (const PanelStep& step : schedule_.steps) {
      const bool diagonal = step.panel == step.other;
      switch (step.kind) {
        case PanelStep::Kind::send_whole: break;  // only other routines have this step
        case PanelStep::Kind::send:
          OB_RETURN_IF_ERROR(send(a_, step.panel));
          if (b_) OB_RETURN_IF_ERROR(send(*b_, step.panel));
          break;
        case PanelStep::Kind::call:
          OB_RETURN_IF_ERROR(diagonal ? compute_diagonal(step) : compute(step));
          break;
        case PanelStep::Kind::fetch:
          OB_RETURN_IF_ERROR(call_.fetch(tile(step), diagonal ? triangle_ : Triangle::full));
          break;
      }
    }
    return {};
  }

  Status send(Factor& factor, unsigned panel) {
    return call_.pipeline().place(part_of(factor.whole, block(panel)), factor.panels[panel]);
  }

  Status compute_diagonal(const PanelStep& step) {
    PanelCall::Arguments arguments(call_);
    arguments.set("n", schedule_.panels[step.panel].count);
    arguments.set("a", device(a_, step.panel));
    if (b_) arguments.set("b", device(*b_, step.panel));
    arguments.set("c", call_.in_result(tile(step)));
    return call_.pipeline().call(call_.routine(), arguments.get());
  }

  // Computes alpha op(A)_i op(A)_j^T or, with two factors,
  // alpha op(A)_i op(B)_j^T + alpha' op(B)_i op(A)_j^T with alpha' = alpha. Hermitian routines use
  // ^H instead of ^T and alpha' = conj(alpha).
  Status compute(const PanelStep& step) {
    Complex alpha = call_.argument("alpha").scalar;
    if (!b_) return multiply(step, alpha, a_, a_, false);
    OB_RETURN_IF_ERROR(multiply(step, alpha, a_, *b_, false));
    if (hermitian_) alpha.im = -alpha.im;
    return multiply(step, alpha, *b_, a_, true);
  }

  Status multiply(const PanelStep& step, Complex alpha, const Factor& left, const Factor& right,
                  bool adds) {
    const char flipped = hermitian_ ? 'C' : 'T';
    return call_.multiply(
        tile(step), shape_.length, alpha, {stored_ ? 'N' : flipped, device(left, row_panel(step))},
        {stored_ ? flipped : 'N', device(right, column_panel(step))}, {adds ? 1.0 : 0.0, 0});
  }

  PanelCall& call_;
  const PanelShape& shape_;
  const PanelSchedule& schedule_;
  const bool hermitian_;
  const bool stored_;  // op(A) is A
  const Triangle triangle_;
  Factor a_;
  std::optional<Factor> b_;
};

}  // namespace

Status run_rank(PanelCall& call, const PanelShape& shape, const PanelSchedule& schedule) {
  return RankUpdate(call, shape, schedule).run();
}

}  // namespace ob::algorithms
