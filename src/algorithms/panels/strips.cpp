// Runs symm, hemm, trmm and trsm: sends all of B, then the triangle strip by strip.
//
// The rows and columns of A are cut into the same blocks. Strip j holds the diagonal block A_jj and
// the blocks that couple panel j of B with the panels before it. In a lower triangle these are
// A_j1 ... A_j,j-1; in an upper one A_1j ... A_j-1,j. A strip is used when it arrives:
//
//   pull   panel j  +=  product of op(A) with the panels before it
//   push   the panels before it  +=  product of op(A) with panel j
//
// A solution pulls before its block is solved and pushes afterwards. A product in place reads
// panels that must not be replaced yet. Pulling reads the panels before j, so the last strip comes
// first. Pushing reads panel j itself, so panel j is replaced only after the push.

#include <algorithm>
#include <vector>

#include "algorithms/panels/call.hpp"

namespace ob::algorithms {
namespace {

constexpr Complex kOne{1, 0};
constexpr Complex kMinusOne{-1, 0};

class Strips {
 public:
  Strips(PanelCall& call, const PanelShape& shape, const PanelSchedule& schedule)
      : call_(call),
        shape_(shape),
        schedule_(schedule),
        order_(strip_order(call.routine(), call.context().arguments)),
        left_(call.is("side", 'L')),
        lower_(call.is("uplo", 'L')),
        alpha_(call.argument("alpha").scalar),
        a_(call.placed("a")),
        b_(call.placed("b")),
        diagonals_(schedule.panels.size()),
        strips_(schedule.panels.size()) {}

  Status run() {
    return call_.run(schedule_.two_slots ? bytes_in_slots() : bytes_needed(shape_),
                     [this] { return submit(); });
  }

 private:
  Status submit() {
    OB_RETURN_IF_ERROR(call_.place_result());
    for (const PanelStep& step : schedule_.steps) {
      const Range& panel = schedule_.panels[step.panel];
      switch (step.kind) {
        case PanelStep::Kind::send_whole: OB_RETURN_IF_ERROR(send_b()); break;
        case PanelStep::Kind::send: OB_RETURN_IF_ERROR(send(step.panel)); break;
        case PanelStep::Kind::call: OB_RETURN_IF_ERROR(compute(step.panel)); break;
        case PanelStep::Kind::fetch:
          OB_RETURN_IF_ERROR(call_.fetch(block(panel), Triangle::full));
          break;
      }
    }
    return {};
  }

  Status send_b() {
    return call_.in_place() ? call_.send_result() : call_.pipeline().place(b_, b_part_);
  }

  // The block of B, and of the result, for a range.
  Block block(const Range& range) const {
    return left_ ? Block{range.first, 0, range.count, shape_.length}
                 : Block{0, range.first, shape_.length, range.count};
  }
  Range before(unsigned panel) const { return {0, schedule_.panels[panel].first}; }

  PlacedOperand diagonal(unsigned panel) const {
    const Range& range = schedule_.panels[panel];
    return part_of(a_, {range.first, range.first, range.count, range.count}, a_.there.triangle);
  }
  PlacedOperand strip(unsigned panel) const {
    const Range& range = schedule_.panels[panel];
    const Block stored = lower_ ? Block{range.first, 0, range.count, range.first}
                                : Block{0, range.first, range.first, range.count};
    return part_of(a_, stored);
  }

  Status send(unsigned panel) {
    OB_RETURN_IF_ERROR(bring(diagonal(panel), thickest() * thickest(), diagonal_part(panel)));
    if (before(panel).count == 0) return {};
    return bring(strip(panel), thickest() * shape_.order, strip_part(panel));
  }

  // A slot has the size of the largest block that it ever holds.
  Status bring(const PlacedOperand& block, std::uint64_t most_elements, Pipeline::Part& part) {
    Pipeline& pipeline = call_.pipeline();
    if (!schedule_.two_slots) return pipeline.place(block, part);
    if (!part.own) OB_RETURN_IF_ERROR(pipeline.allocate(most_elements * element_bytes(), part));
    return pipeline.send(block, part.buffer);
  }
  Pipeline::Part& diagonal_part(unsigned panel) { return diagonals_[slot(panel)]; }
  Pipeline::Part& strip_part(unsigned panel) { return strips_[slot(panel)]; }
  unsigned slot(unsigned panel) const { return schedule_.two_slots ? panel % 2 : panel; }

  std::uint64_t element_bytes() const { return a_.there.element_bytes; }
  std::uint64_t thickest() const {
    std::uint64_t most = 0;
    for (const Range& panel : schedule_.panels) most = std::max(most, panel.count);
    return most;
  }
  double bytes_in_slots() const {
    const std::uint64_t slots = 2 * thickest() * (thickest() + shape_.order);
    const std::uint64_t held = (call_.in_place() ? 1 : 2) * shape_.order * shape_.length;
    return static_cast<double>((slots + held) * element_bytes());
  }

  Status compute(unsigned panel) {
    if (call_.routine().base == "trsm") return solve(panel);
    if (!call_.in_place()) OB_RETURN_IF_ERROR(compute_diagonal(panel, alpha_));
    if (order_.pushes) OB_RETURN_IF_ERROR(multiply(panel, kPush, alpha_, kOne));
    if (call_.in_place()) OB_RETURN_IF_ERROR(compute_diagonal(panel, alpha_));
    return order_.pulls ? multiply(panel, kPull, alpha_, kOne) : Status();
  }

  // The first operation on a part of B scales it by alpha.
  Status solve(unsigned panel) {
    const bool first = panel == (order_.backward ? schedule_.panels.size() - 1 : 0);
    if (order_.pulls) OB_RETURN_IF_ERROR(multiply(panel, kPull, kMinusOne, alpha_));
    const bool is_scaled = order_.pulls ? before(panel).count > 0 : !first;
    OB_RETURN_IF_ERROR(compute_diagonal(panel, is_scaled ? kOne : alpha_));
    return order_.pushes ? multiply(panel, kPush, kMinusOne, first ? alpha_ : kOne) : Status();
  }

  Status compute_diagonal(unsigned panel, Complex alpha) {
    const Range& range = schedule_.panels[panel];
    PanelCall::Arguments arguments(call_);
    arguments.set(left_ ? "m" : "n", range.count);
    arguments.set("alpha", alpha);
    arguments.set("a", all_of(diagonal_part(panel), diagonal(panel).there));
    arguments.set("b", in_b(range));
    if (!call_.in_place()) arguments.set("c", call_.in_result(block(range)));
    return call_.pipeline().call(call_.routine(), arguments.get());
  }

  // Computes R := alpha op(A) B + beta R for the panel or the panels before it; alpha B op(A) if A
  // is on the right. The strip is the block of A.
  enum Direction { kPull, kPush };
  Status multiply(unsigned panel, Direction direction, Complex alpha, Complex beta) {
    const bool pulls = direction == kPull;
    const Range to = pulls ? schedule_.panels[panel] : before(panel);
    const Range from = pulls ? before(panel) : schedule_.panels[panel];
    if (to.count == 0 || from.count == 0) return {};
    const PanelCall::Factor a{trans(pulls == left_), all_of(strip_part(panel), strip(panel).there)};
    const PanelCall::Factor b{'N', in_b(from)};
    return call_.multiply(block(to), from.count, alpha, left_ ? a : b, left_ ? b : a, beta);
  }

  // The transposition that turns the strip into the block of op(A) in the panel's rows, or in its
  // columns.
  char trans(bool in_rows) const {
    if (call_.in_place()) return call_.argument("transa").flag;
    const bool as_stored = in_rows == lower_;
    return as_stored ? 'N' : call_.routine().base == "hemm" ? 'C' : 'T';
  }

  DeviceOperand in_b(const Range& range) const {
    if (call_.in_place()) return call_.in_result(block(range));
    DeviceOperand operand = all_of(b_part_, b_.there);
    const Block at = block(range);
    operand.offset_bytes = (at.col * b_.there.ld + at.row) * b_.there.element_bytes;
    return operand;
  }

  PanelCall& call_;
  const PanelShape& shape_;
  const PanelSchedule& schedule_;
  const StripOrder order_;
  const bool left_;
  const bool lower_;
  const Complex alpha_;
  const PlacedOperand a_;
  const PlacedOperand b_;
  Pipeline::Part b_part_;
  std::vector<Pipeline::Part> diagonals_;
  std::vector<Pipeline::Part> strips_;
};

}  // namespace

StripOrder strip_order(const Descriptor& routine, const Argument* arguments) {
  const auto is = [&](std::string_view flag, char value) {
    return arguments[argument_position(routine, flag)].flag == value;
  };
  if (routine.base == "symm" || routine.base == "hemm") {
    return {.pulls = true, .pushes = true, .backward = false, .late = true};
  }
  const bool lower = is("uplo", 'L') == is("transa", 'N');  // op(A)
  const bool pulls = lower == is("side", 'L');
  if (routine.base == "trsm") return {pulls, !pulls, !pulls, false};
  return {pulls, !pulls, pulls, !pulls};
}

Status run_strips(PanelCall& call, const PanelShape& shape, const PanelSchedule& schedule) {
  return Strips(call, shape, schedule).run();
}

}  // namespace ob::algorithms
