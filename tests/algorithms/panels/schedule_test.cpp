// Tests schedules of calls in panels: they are complete, causal, and as fast as the formulas.

#include "algorithms/panels/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "support/random.hpp"

namespace ob::algorithms {
namespace {

using Form = PanelShape::Form;
using Kind = PanelStep::Kind;
constexpr Form kForms[] = {Form::one_side, Form::rank_k, Form::rank_2k};

// The completed steps of a schedule. A step that comes twice or too early is a failure.
struct Done {
  bool whole = false;
  std::set<unsigned> sent;
  std::set<std::pair<unsigned, unsigned>> called;
  std::set<std::pair<unsigned, unsigned>> fetched;

  void follow(const PanelStep& step, bool one_side) {
    const std::pair part(step.panel, step.other);
    switch (step.kind) {
      case Kind::send_whole:
        EXPECT_FALSE(whole);
        whole = true;
        break;
      case Kind::send: EXPECT_TRUE(sent.insert(step.panel).second); break;
      case Kind::call:
        EXPECT_EQ(whole, one_side);
        EXPECT_TRUE(sent.contains(step.panel) && sent.contains(step.other));
        EXPECT_LE(step.other, step.panel);
        EXPECT_TRUE(called.insert(part).second);
        break;
      case Kind::fetch:
        EXPECT_TRUE(called.contains(part));
        EXPECT_TRUE(fetched.insert(part).second);
        break;
    }
  }
};

void expect_ranges(const std::vector<Range>& panels, std::uint64_t length) {
  std::uint64_t end = 0;
  for (const Range& range : panels) {
    EXPECT_EQ(range.first, end);
    EXPECT_GT(range.count, 0u);
    end += range.count;
  }
  EXPECT_EQ(end, length);
}

// Every part is computed once, from panels sent before, and is fetched once, after its computation.
TEST(PanelSchedule, IsCompleteAndCausal) {
  auto random = test::fresh_random();
  for (int round = 0; round < 300; ++round) {
    PanelShape shape;
    shape.form = kForms[round % 3];
    shape.order = test::uniform<std::uint64_t>(random, 1, 20);
    shape.length = test::uniform<std::uint64_t>(random, 1, 20);
    const bool one_side = shape.form == Form::one_side;
    const PanelSchedule schedule = schedule_panels(shape, test::uniform(random, 1U, 9U));
    expect_ranges(schedule.panels, one_side ? shape.length : shape.order);
    Done done;
    for (const PanelStep& step : schedule.steps) done.follow(step, one_side);
    const std::size_t panels = schedule.panels.size();
    EXPECT_EQ(done.fetched.size(), one_side ? panels : panels * (panels + 1) / 2);
    EXPECT_EQ(done.called, done.fetched);
  }
}

TEST(PanelSchedule, StripsAreCompleteAndInOrder) {
  auto random = test::fresh_random();
  for (int round = 0; round < 100; ++round) {
    PanelShape shape{.order = test::uniform<std::uint64_t>(random, 1, 20), .length = 5};
    shape.backward = round % 2 == 1;
    shape.late = round % 4 >= 2;
    const PanelSchedule schedule = schedule_strips(shape, test::uniform(random, 1U, 9U));
    EXPECT_TRUE(schedule.in_strips);
    expect_ranges(schedule.panels, shape.order);
    const auto panels = static_cast<unsigned>(schedule.panels.size());
    Done done;
    for (const PanelStep& step : schedule.steps) {
      const auto before = static_cast<unsigned>(done.called.size());
      if (step.kind == Kind::call) {
        EXPECT_EQ(step.panel, shape.backward ? panels - 1 - before : before);
        EXPECT_EQ(done.sent.size(), before + 1);
      }
      if (step.kind == Kind::fetch && shape.late) {
        EXPECT_EQ(before, panels);
      }
      done.follow(step, true);
    }
    EXPECT_EQ(done.called.size(), panels);
    EXPECT_EQ(done.called, done.fetched);
  }
}

// While a panel is computed, the next one is sent and the previous result returns.
TEST(PanelSchedule, EachPanelIsComputedBeforeTheNextIsSent) {
  for (const Form form : kForms) {
    const PanelSchedule schedule = schedule_panels({.form = form, .order = 100, .length = 100}, 5);
    unsigned sent = 0;
    for (const PanelStep& step : schedule.steps) {
      if (step.kind == Kind::send) ++sent;
      EXPECT_EQ(step.kind == Kind::send_whole ? 0 : step.panel + 1, sent);
    }
  }
}

// A square call that computes for W seconds. Sending its panels takes `to` W seconds, and returning
// its result takes `from` W seconds.
struct Square {
  Form form;
  double to;
  double from = 1e-9;
  std::uint64_t n = 4096;
  double work_s = 10;

  PanelShape shape() const { return {form, n, n, 8, 1e12}; }
  PipelineModel model() const {
    const double matrix = 8.0 * static_cast<double>(n) * static_cast<double>(n);
    PipelineModel model;
    model.flop_per_s = 1e12 / work_s;
    model.to_bytes_per_s = matrix * (form == Form::rank_2k ? 2 : 1) / (to * work_s);
    model.from_bytes_per_s = matrix * (form == Form::one_side ? 1 : 0.5) / (from * work_s);
    return model;
  }
  double seconds(unsigned parts) const {
    return predict(schedule_panels(shape(), parts), shape(), model()) / work_s;
  }
};

TEST(PanelSchedule, OneSideTakesWhatTheFormulaSays) {
  for (const unsigned s : {4U, 8U, 16U}) {
    // Nothing overlaps with sending the triangle and the first panel, or with the last result.
    const Square computes{.form = Form::one_side, .to = 0.5, .from = 0.5};
    EXPECT_NEAR(computes.seconds(s), 0.25 + 0.5 / s + 1 + 0.5 / s, 1e-3);
    // The link limits the time: the last panel is computed and returned after all other work.
    const Square sends{.form = Form::one_side, .to = 4, .from = 2};
    EXPECT_NEAR(sends.seconds(s), 2 + 4 + 1.0 / s + 2.0 / s, 2e-3);
  }
  const Square whole{.form = Form::one_side, .to = 0.5, .from = 0.5};
  EXPECT_NEAR(whole.seconds(1), 0.25 + 0.5 + 1 + 0.5, 1e-3);
}

TEST(PanelSchedule, RanksTakeWhatTheFormulaSays) {
  for (const Form form : {Form::rank_k, Form::rank_2k}) {
    for (const unsigned s : {4U, 8U, 16U}) {
      // The first panel gives 1/s^2 of the work. Each further one gives 2/s^2 more than the one
      // before.
      const Square fast{.form = form, .to = 0.9 / s};
      EXPECT_NEAR(fast.seconds(s), 1 + fast.to / s, 1e-3);
      // after j panels (j / s)^2 of the work is possible, so the wait is longest at
      // j/s = rho/2 + 1/s
      for (const double rho : {0.5, 0.8, 1.2}) {
        const Square square{.form = form, .to = rho};
        EXPECT_NEAR(square.seconds(s), 1 + rho / s + rho * rho / 4, 0.5 / (s * s) + 1e-3) << rho;
      }
      const Square slow{.form = form, .to = 3};
      // The last panel gives 2s - 1 of the s^2 parts.
      EXPECT_NEAR(slow.seconds(s), 3 + (2.0 * s - 1) / (s * s), 1e-3);
    }
    EXPECT_NEAR((Square{.form = form, .to = 0.5, .from = 0.5}.seconds(1)), 2, 1e-3);
  }
}

// If the device is slower than the link, the time is that of B, one strip, the work, and the return
// of one panel.
TEST(PanelSchedule, StripsTakeWhatTheFormulaSays) {
  for (const unsigned s : {4U, 8U, 16U}) {
    const Square square{.form = Form::one_side, .to = 0.2, .from = 0.5};
    PanelShape shape = square.shape();
    const auto seconds = [&] {
      return predict(schedule_strips(shape, s), shape, square.model()) / square.work_s;
    };
    const double n = s;
    const double first_strip = 0.1 / (n * n);
    const double last_strip = 0.1 * (2 * n - 1) / (n * n);
    EXPECT_NEAR(seconds(), 0.2 + first_strip + 1 + 0.5 / n, 2e-3);
    shape.late = true;  // the whole result returns at the end
    EXPECT_NEAR(seconds(), 0.2 + first_strip + 1 + 0.5, 2e-3);
    // The longest strip is first. The last panels of B have too little work to hide the return.
    shape.late = false;
    shape.backward = true;
    EXPECT_GT(seconds(), 0.2 + last_strip + 1 + 0.5 / n - 2e-3);
    EXPECT_LT(seconds(), 0.2 + last_strip + 1 + 0.5 / n + 0.25);
  }
}

TEST(PanelSchedule, WhatTravelsIsCounted) {
  const std::uint64_t n = 100;
  const std::uint64_t k = 30;
  EXPECT_EQ(bytes_sent({Form::one_side, n, k, 8}), 8.0 * (5050 + 3000));
  EXPECT_EQ(bytes_sent({Form::rank_k, n, k, 8}), 8.0 * 3000);
  EXPECT_EQ(bytes_sent({Form::rank_2k, n, k, 16}), 16.0 * 6000);
  // A as a full matrix, B, and C if it is a separate matrix
  EXPECT_EQ(bytes_needed({Form::one_side, n, k, 8}), 8.0 * (10000 + 2 * 3000));
  EXPECT_EQ(bytes_needed({Form::one_side, n, k, 8, 0, true}), 8.0 * (10000 + 3000));
  EXPECT_EQ(bytes_needed({Form::rank_k, n, k, 8}), 8.0 * (3000 + 10000));
  EXPECT_EQ(bytes_needed({Form::rank_2k, n, k, 8}), 8.0 * (2 * 3000 + 10000));
}

TEST(PanelSchedule, TheChosenOneIsHardlyWorseThanAnyOther) {
  auto random = test::fresh_random();
  const auto between = [&](double low, double high) {
    return std::exp(std::uniform_real_distribution(std::log(low), std::log(high))(random));
  };
  std::set<std::size_t> chosen_counts;
  for (int round = 0; round < 60; ++round) {
    const Square square{.form = kForms[round % 3],
                        .to = between(0.05, 5),
                        .from = between(0.05, 5),
                        .n = test::uniform<std::uint64_t>(random, 100, 8000),
                        .work_s = between(1e-3, 1)};
    PipelineModel model = square.model();
    model.call_s = kCallSeconds;
    model.message_s = kMessageSeconds;
    model.fetch_s = kFetchSeconds;
    model.submit_s = kSubmitSeconds;
    const PanelShape shape = square.shape();
    const PanelSchedule chosen = choose_panels(shape, model);
    const double seconds = predict(chosen, shape, model);
    chosen_counts.insert(chosen.panels.size());
    EXPECT_TRUE(chosen.panels.size() == 1 || square.n / chosen.panels.size() >= 128);
    for (const unsigned parts : {1U, 4U, 8U}) {
      if (parts > 1 && square.n / parts < 128) continue;
      EXPECT_LE(seconds * 0.95, predict(schedule_panels(shape, parts), shape, model));
      if (parts == 1 || shape.form != Form::one_side) continue;
      EXPECT_LE(seconds * 0.95, predict(schedule_strips(shape, parts), shape, model));
    }
  }
  EXPECT_GT(chosen_counts.size(), 2u);
}

TEST(PanelSchedule, WhatIsSoonDoneIsNotCut) {
  for (const Form form : kForms) {
    const Square tiny{.form = form, .to = 0.5, .from = 0.5, .n = 512, .work_s = 1e-4};
    PipelineModel model = tiny.model();
    model.call_s = kCallSeconds;
    model.fetch_s = kFetchSeconds;
    model.submit_s = kSubmitSeconds;
    EXPECT_EQ(choose_panels(tiny.shape(), model).panels.size(), 1u);
  }
}

// The smaller operand is sent first, and the transfer of the larger one is hidden.
TEST(PanelSchedule, TheLargerOperandIsCut) {
  const Square square{.form = Form::one_side, .to = 0.5, .from = 0.5};
  PanelShape shape = square.shape();
  shape.length = 400;
  EXPECT_TRUE(choose_panels(shape, square.model()).in_strips);
  shape.length = 20000;
  EXPECT_FALSE(choose_panels(shape, square.model()).in_strips);
}

}  // namespace
}  // namespace ob::algorithms
