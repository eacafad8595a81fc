#include "algorithms/panels/schedule.hpp"

#include <algorithm>

#include "algorithms/real.hpp"

namespace ob::algorithms {
namespace {

using Form = PanelShape::Form;
using StepKind = PanelStep::Kind;

constexpr unsigned kMostPanels = 16;

double triangle(std::uint64_t order) { return real(order) * (real(order) + 1) / 2; }
double factors(const PanelShape& shape) { return shape.form == Form::rank_2k ? 2 : 1; }

double tile(const PanelSchedule& schedule, const PanelStep& step) {
  const std::uint64_t rows = schedule.panels[step.panel].count;
  if (step.panel == step.other) return triangle(rows);
  return real(rows) * real(schedule.panels[step.other].count);
}

// Predicts the time of one schedule.
class Play {
 public:
  Play(const PanelSchedule& schedule, const PanelShape& shape, const PipelineModel& model)
      : schedule_(schedule), shape_(shape), timeline_(model) {}

  double seconds() {
    for (const PanelStep& step : schedule_.steps) {
      switch (step.kind) {
        case StepKind::send_whole:
          send(schedule_.in_strips ? rectangle() : triangle(shape_.order));
          break;
        case StepKind::send: send(step); break;
        case StepKind::call: call(step); break;
        case StepKind::fetch: timeline_.fetch(result(step) * shape_.element_bytes); break;
      }
    }
    return timeline_.seconds();
  }

 private:
  bool one_side() const { return shape_.form == Form::one_side; }
  double rectangle() const { return real(shape_.order) * real(shape_.length); }
  double count(const PanelStep& step) const { return real(schedule_.panels[step.panel].count); }
  // Elements of a strip without its block of the diagonal.
  double strip(const PanelStep& step) const {
    return count(step) * real(schedule_.panels[step.panel].first);
  }

  void send(double elements) { timeline_.send(elements * shape_.element_bytes); }

  void send(const PanelStep& step) {
    if (schedule_.in_strips) {
      send(triangle(schedule_.panels[step.panel].count));
      if (strip(step) > 0) send(strip(step));
      return;
    }
    const double elements = count(step) * real(one_side() ? shape_.order : shape_.length);
    send(elements);
    if (shape_.form == Form::rank_2k) send(elements);
  }

  void call(const PanelStep& step) {
    if (schedule_.in_strips) {
      const double square = real(shape_.order) * real(shape_.order);
      timeline_.call(shape_.flop * count(step) * count(step) / square);
      if (strip(step) > 0) calls(shape_.products_per_strip, 2 * strip(step) / square);
    } else if (one_side()) {
      calls(1, count(step) / real(shape_.length));
    } else {
      const bool two = shape_.form == Form::rank_2k && step.panel != step.other;
      calls(two ? 2 : 1, tile(schedule_, step) / triangle(shape_.order));
    }
  }
  // Adds `number` calls, which together do a share of all flops.
  void calls(unsigned number, double share) {
    for (unsigned i = 0; i < number; ++i) timeline_.call(shape_.flop * share / number);
  }

  // Elements of one part of the result.
  double result(const PanelStep& step) const {
    if (!one_side()) return tile(schedule_, step);
    return count(step) * real(schedule_.in_strips ? shape_.length : shape_.order);
  }

  const PanelSchedule& schedule_;
  const PanelShape& shape_;
  Timeline timeline_;
};

}  // namespace

double bytes_sent(const PanelShape& shape) noexcept {
  const double panels = real(shape.order) * real(shape.length) * factors(shape);
  const double square = shape.form == Form::one_side ? triangle(shape.order) : 0;
  return (panels + square) * shape.element_bytes;
}

double bytes_needed(const PanelShape& shape) noexcept {
  const bool two = shape.form == Form::rank_2k || (shape.form == Form::one_side && !shape.in_place);
  const double rectangle = real(shape.order) * real(shape.length);
  return (real(shape.order) * real(shape.order) + (two ? 2 : 1) * rectangle) * shape.element_bytes;
}

PanelSchedule schedule_panels(const PanelShape& shape, unsigned parts) {
  PanelSchedule made;
  const bool one_side = shape.form == Form::one_side;
  made.panels = cut(one_side ? shape.length : shape.order, parts);
  if (one_side) made.steps.push_back({StepKind::send_whole, 0, 0});
  for (unsigned panel = 0; panel < made.panels.size(); ++panel) {
    made.steps.push_back({StepKind::send, panel, panel});
    // The tile of the diagonal is last: it takes half as much computation, so the wait at the end
    // is shorter.
    for (unsigned other = one_side ? panel : 0; other <= panel; ++other) {
      made.steps.push_back({StepKind::call, panel, other});
      made.steps.push_back({StepKind::fetch, panel, other});
    }
  }
  return made;
}

PanelSchedule schedule_strips(const PanelShape& shape, unsigned parts) {
  PanelSchedule made;
  made.in_strips = true;
  made.panels = cut(shape.order, parts);
  made.steps.push_back({StepKind::send_whole, 0, 0});
  const auto count = static_cast<unsigned>(made.panels.size());
  for (unsigned i = 0; i < count; ++i) {
    const unsigned panel = shape.backward ? count - 1 - i : i;
    made.steps.push_back({StepKind::send, panel, panel});
    made.steps.push_back({StepKind::call, panel, panel});
    if (!shape.late) made.steps.push_back({StepKind::fetch, panel, panel});
  }
  for (unsigned panel = 0; shape.late && panel < count; ++panel) {
    made.steps.push_back({StepKind::fetch, panel, panel});
  }
  return made;
}

double predict(const PanelSchedule& schedule, const PanelShape& shape, const PipelineModel& model) {
  return Play(schedule, shape, model).seconds();
}

PanelSchedule choose_panels(const PanelShape& shape, const PipelineModel& model) {
  const bool one_side = shape.form == Form::one_side;
  std::vector<PanelSchedule> candidates;
  std::vector<double> seconds;
  const auto consider = [&](PanelSchedule candidate) {
    seconds.push_back(predict(candidate, shape, model));
    candidates.push_back(std::move(candidate));
  };
  consider(schedule_panels(shape, 1));
  const auto each_cut = [](std::uint64_t edge, unsigned most, const auto& visit) {
    for (const unsigned parts : kPanelCounts) {
      if (parts > 1 && parts <= most && edge / parts >= kLeastEdge) visit(parts);
    }
  };
  each_cut(one_side ? shape.length : shape.order, one_side ? kMostPanels : kMostTiled,
           [&](unsigned parts) { consider(schedule_panels(shape, parts)); });
  each_cut(one_side ? shape.order : 0, kMostPanels,
           [&](unsigned parts) { consider(schedule_strips(shape, parts)); });
  const double enough = *std::min_element(seconds.begin(), seconds.end()) / kClearly;
  std::size_t chosen = 0;
  while (seconds[chosen] > enough) ++chosen;
  return std::move(candidates[chosen]);
}

}  // namespace ob::algorithms
