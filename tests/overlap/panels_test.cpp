// Panel plans refuse wrong arguments, and find mistakes of the program.
#include <cmath>
#include <string>
#include <vector>

#include "mpi_support.hpp"

namespace ob::overlap::test {
namespace {

using Field2 = api::Field<double, 2>;

/// A plan of panels of 3 x 4 in columns, of which rank 0 owns even ones and rank 1 odd ones.
struct Panels {
  explicit Panels(const api::Runtime& runtime, int look_ahead = 1)
      : plan(runtime, MPI_COMM_WORLD, {.look_ahead = look_ahead, .name = "p"}) {}
  void add(int count) {
    for (int k = 0; k < count; ++k) plan.add(k % 2, field(k));
  }
  Field2 field(int k) {
    return {world_rank() == k % 2 ? cells.data() + 12 * k : nullptr, {3, 4}, {1, 3}};
  }
  std::vector<double> cells = std::vector<double>(120, double(world_rank() + 1));
  api::PanelPlan<double> plan;
};

/// Requires that the commit fails on all ranks with `text`, after `describe`.
template <class Describe>
void refused(const api::Runtime& runtime, const std::string& text, Describe&& describe) {
  Panels p(runtime);
  describe(p);
  require_failure(OB_INVALID_ARGUMENT, text, [&] { p.plan.commit(); });
}

}  // namespace

void panel_mismatches() {
  api::Runtime runtime(MPI_COMM_WORLD, {.mode = api::Mode::shared});
  const bool odd = world_rank() == 1;  // the rank that differs
  refused(runtime, "the number of panels: 3 here and 2 on rank 0",
          [&](Panels& p) { p.add(odd ? 3 : 2); });
  refused(runtime, "the owner of panel 0: 1 here and 0 on rank 0", [&](Panels& p) {
    p.plan.add(odd ? 1 : 0, Field2(p.cells.data(), {3, 4}, {1, 3}));
  });
  refused(runtime, "the bytes of panel 0: 120 here and 96 on rank 0", [&](Panels& p) {
    p.plan.add(0, Field2(p.cells.data(), {3, odd ? 5 : 4}, {1, 3}));
  });
  refused(runtime, "order of dimensions of panel 0", [&](Panels& p) {
    p.plan.add(0, odd ? Field2(nullptr, {3, 4}) : Field2(p.cells.data(), {3, 4}, {1, 3}));
  });
  refused(runtime, "has no data on its owner", [](Panels& p) {
    const auto add = [&] { p.plan.add(0, Field2(nullptr, {3, 4}, {1, 3})); };
    if (world_rank() != 0) return add();  // where it is not needed
    require_failure(OB_INVALID_ARGUMENT, "has no data on its owner", add);
  });
  refused(runtime, "owner 99 of panel 0 does not exist", [&](Panels& p) {
    require_failure(OB_INVALID_ARGUMENT, "owner 99", [&] { p.plan.add(99, p.field(0)); });
  });
  refused(runtime, "an extent below 0", [&](Panels& p) {
    if (!odd) return p.add(1);
    require_failure(OB_INVALID_ARGUMENT, "an extent below 0", [&] {
      p.plan.add(0, Field2(nullptr, {-1, 4}, {1, 3}));
    });
  });
  refused(runtime, "2^63 bytes or more", [&](Panels& p) {
    if (!odd) return p.add(1);
    require_failure(OB_INVALID_ARGUMENT, "2^63 bytes or more", [&] {
      p.plan.add(0, Field2(nullptr, {std::int64_t{1} << 32, std::int64_t{1} << 32}));
    });
  });
  require_failure(OB_INVALID_ARGUMENT, "look_ahead 63 is not in 0 to 62",
                  [&] { Panels p(runtime, odd ? 63 : 1); });
  require_failure(OB_INVALID_ARGUMENT, "broadcast 9 does not exist", [&] {
    api::PanelPlan<double> plan(runtime, MPI_COMM_WORLD,
                                {.broadcast = api::Broadcast(odd ? 9 : 0)});
  });
  {
    Panels p(runtime, odd ? 2 : 1);
    p.add(2);
    require_failure(OB_INVALID_ARGUMENT, "the look-ahead: 2 here and 1 on rank 0",
                    [&] { p.plan.commit(); });
  }
  Panels p(runtime);  // the runtime is whole after the failures
  p.add(2);
  p.plan.commit();
  p.plan.start(0);
  p.plan.start(1);
  p.plan.wait(0);
  p.plan.wait(1);
  require(p.plan[0][11] == 1 && p.plan[1][0] == 2, "the plan after the failures does not run");
}

void panel_misuse() {
  api::Runtime runtime(MPI_COMM_WORLD, {.mode = api::Mode::async});
  Panels p(runtime);
  const auto refuses = [](const std::string& text, auto&& action) {
    require_failure(OB_INVALID_ARGUMENT, text, action);
  };
  p.add(4);
  refuses("before commit", [&] { p.plan.start(0); });
  p.plan.commit();
  refuses("committed already", [&] { p.plan.commit(); });
  refuses("committed already", [&] { p.add(1); });
  refuses("panel 4 does not exist", [&] { p.plan.start(4); });
  refuses("panel -1 does not exist", [&] { p.plan.start(-1); });
  refuses("start panel 0, or 0", [&] { p.plan.start(1); });
  refuses("panel 0 is not under way", [&] { p.plan.wait(0); });
  p.plan.start(0);
  refuses("panel 0 is not here", [&] { (void)p.plan[0]; });
  refuses("panel 1 is not under way", [&] { p.plan.wait(1); });
  p.plan.start(1);
  refuses("the look-ahead is 1", [&] { p.plan.start(2); });
  p.plan.wait(0);
  refuses("panel 0 is not under way", [&] { p.plan.wait(0); });
  require(p.plan[0][0] == 1, "panel 0 is wrong");
  p.plan.start(2);
  refuses("panel 0 is not here", [&] { (void)p.plan[0]; });
  p.plan.wait(1);
  p.plan.wait(2);
  p.plan.start(0);  // another round, before the end of the first
  p.plan.wait(0);
  refuses("a plan of panels does not have this function",
          [&] { api::check(ob_overlap_start(p.plan.get(), 0)); });
  refuses("a plan of panels does not have this function",
          [&] { api::check(ob_overlap_wait(p.plan.get())); });
  api::MovePlan moves(runtime, MPI_COMM_WORLD);
  refuses("for plans of panels", [&] { api::check(ob_overlap_panel_start(moves.get(), 0)); });
  require(ob_overlap_panel_start(nullptr, 0) == OB_INVALID_ARGUMENT, "a null handle");
  require(ob_overlap_panel_data(p.plan.get(), 0, nullptr) == OB_INVALID_ARGUMENT, "null data");
  p.plan.start(1);  // the end of the plan waits for it
}

void panel_checks() {
  for (const api::Mode mode : kFixedModes) {
    api::Runtime runtime(MPI_COMM_WORLD, {.mode = mode, .check = true});
    Panels p(runtime, 0);
    p.add(3);
    p.plan.commit();
    p.plan.start(0);
    p.plan.wait(0);
    const double* const panel = p.plan[0];
    require(panel[0] == 1, "panel 0 is wrong");
    p.plan.start(1);
    require(std::isnan(panel[0]), "the buffer has no NaN while panel 1 is under way");
    if (world_rank() == 0) const_cast<double*>(panel)[5] = 7;
    if (world_rank() == 1) p.cells[12] = 7;  // the owner's element
    const auto wait = [&] { p.plan.wait(1); };
    if (world_rank() < 2)
      require_failure(OB_INVALID_ARGUMENT,
                      "rank " + std::to_string(world_rank()) + " wrote to panel 1 of rank 1", wait);
    else
      wait();
    p.plan.start(2);
    p.plan.wait(2);
    const_cast<double*>(p.plan[2])[3] = 8;  // in use, and read only
    require_failure(OB_INVALID_ARGUMENT, "wrote to the buffer of panel 2",
                    [&] { p.plan.start(0); });
    p.plan.start(0);
    p.plan.wait(0);
    require(p.plan[0][3] == 1, "the plan does not run after the mistakes");
  }
}

void panel_patience() {
  for (const api::Mode mode : kFixedModes) {
    std::string report;
    api::Options options{.mode = mode, .patience = std::chrono::seconds(1)};
    options.on_stuck = [](const char* text, void* to) { *static_cast<std::string*>(to) = text; };
    options.context = &report;
    api::Runtime runtime(MPI_COMM_WORLD, options);
    Panels p(runtime);
    p.add(2);
    p.plan.commit();
    p.plan.start(0);
    p.plan.wait(0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank() == 0) {  // panel 1 comes from rank 1, which is late
      ob_status status = ob_overlap_panel_start(p.plan.get(), 1);  // mode sync waits here
      if (mode != api::Mode::sync) status = ob_overlap_panel_wait(p.plan.get(), 1);
      require(status == OB_DEADLINE_EXCEEDED, "the wait had an end before the panel");
      require(report.find("plan p: nothing from rank 1") != std::string::npos ||
                  report.find("plan p: nothing from rank 2") != std::string::npos,
              "report: " + report);
      require(report.find("96 bytes of a panel of rank 1") != std::string::npos,
              "report: " + report);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    // One after another: rank 0 needs the panel that ranks in front of it pass on.
    ob_status status = OB_DEADLINE_EXCEEDED;
    if (world_rank() != 0) status = ob_overlap_panel_start(p.plan.get(), 1);
    require(status == OB_OK || status == OB_DEADLINE_EXCEEDED, "the late start has failed");
    status = OB_DEADLINE_EXCEEDED;
    while (status == OB_DEADLINE_EXCEEDED) status = ob_overlap_panel_wait(p.plan.get(), 1);
    require(status == OB_OK && p.plan[1][0] == 2, "the panel did not arrive in the end");
  }
}

}  // namespace ob::overlap::test
