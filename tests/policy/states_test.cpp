// Drives a history through every row of the table of states in docs/decision.md.

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "policy/history.hpp"

namespace ob::policy {
namespace {

struct Row {
  std::string state;
  std::string event;
  std::string next;
  std::string side;
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  for (std::size_t at = 1; at < line.size();) {
    const std::size_t end = line.find('|', at);
    if (end == std::string::npos) break;
    std::string cell = line.substr(at, end - at);
    cell.erase(0, cell.find_first_not_of(' '));
    cell.erase(cell.find_last_not_of(' ') + 1);
    cells.push_back(cell);
    at = end + 1;
  }
  return cells;
}

// The rows below the heading "state, event, next state, side".
std::vector<Row> rows_of_the_page() {
  std::ifstream page(OB_DECISION_PAGE);
  std::vector<Row> rows;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    const std::vector<std::string> cells = cells_of(line);
    if (inside && cells.size() != 4) break;
    if (inside && cells[0] != "---") rows.push_back({cells[0], cells[1], cells[2], cells[3]});
    inside = inside || (cells.size() == 4 && cells[0] == "state" && cells[1] == "event");
  }
  return rows;
}

// One shape, whose calls take the times that `estimate` says unless a test says otherwise.
struct Calls {
  LossBudget budget;
  History history{budget};
  Estimate estimate;

  Calls(double local_s, double remote_s, double error) {
    estimate.shape = 7;
    estimate.operands = {{{1, 8e6}}};
    estimate.local_s = local_s;
    estimate.remote_s = estimate.remote_again_s = remote_s;
    estimate.local_error = estimate.remote_error = error;
    budget.spend(50);
  }
  Decision decide() { return history.decide(estimate); }
  Decision make(int calls, double local_s, double remote_s) {
    Decision last;
    for (int i = 0; i < calls; ++i) {
      last = decide();
      if (last.state == State::trial) history.observe_trial(estimate.shape, remote_s, 0);
      const bool remote = last.target == Target::remote;
      history.observe(estimate.shape, last.target, remote ? remote_s : local_s, 0);
    }
    return last;
  }
  // The state and side of the next call of the shape, after those so far.
  Decision next(State before, const Decision& last) {
    EXPECT_EQ(last.state, before);
    return decide();
  }
};

using Event = std::function<Decision()>;

const std::map<std::string, Event>& events() {
  static const std::map<std::string, Event> all = {
      {"a time is missing", [] { return Calls(1, 0, 1.1).decide(); }},
      {"a gain beyond the error", [] { return Calls(1, 0.1, 1.3).decide(); }},
      {"a short call, a gain that twice the errors would undo",
       [] { return Calls(1e-3, 0.9e-3, 1.3).decide(); }},
      {"a gain within the error", [] { return Calls(0.02, 0.015, 1.5).decide(); }},
      {"local, in a loop, a gain beyond the error",
       [] {
         Calls calls(0.02, 0.015, 1.5);
         const Decision last = calls.make(4, 0.02, 0);
         calls.estimate.remote_s = calls.estimate.remote_again_s = 0.001;
         return calls.next(State::model, last);
       }},
      {"local, in a long loop, a price fits",
       [] {
         // The budget has about 0.54 s left, and the price is 0.6 s at the worst.
         Calls calls(0.2, 0.9, 1.1);
         calls.estimate.remote_again_s = 0.05;
         const Decision last = calls.make(20, 0.2, 0);
         calls.estimate.remote_s = 0.66;
         return calls.next(State::model, last);
       }},
      {"local, in a loop, a gain within the error, and a trial fits",
       [] {
         Calls calls(0.02, 0.015, 1.5);
         return calls.next(State::model, calls.make(4, 0.02, 0));
       }},
      {"no gain was measured",
       [] {
         Calls calls(0.02, 0.015, 1.5);
         return calls.next(State::trial, calls.make(6, 0.02, 0.03));
       }},
      {"a gain beyond the error was measured",
       [] {
         Calls calls(0.02, 0.015, 1.5);
         return calls.next(State::trial, calls.make(6, 0.02, 0.008));
       }},
      {"remote, and measured to gain",
       [] {
         Calls calls(0.02, 0.002, 1.3);
         return calls.next(State::model, calls.make(3, 0, 0.002));
       }},
      {"remote, and measured to lose",
       [] {
         Calls calls(0.02, 0.002, 1.3);
         return calls.next(State::model, calls.make(2, 0, 0.03));
       }},
      {"local, a gain beyond the error",
       [] {
         Calls calls(1e-3, 1.1e-3, 1.3);
         const Decision last = calls.make(10, 1e-3, 0);
         calls.estimate.remote_s = calls.estimate.remote_again_s = 1e-5;
         return calls.next(State::settled, last);
       }},
      {"remote, and the accelerator becomes slower", [] {
         Calls calls(0.02, 0.002, 1.3);
         const Decision last = calls.make(8, 0, 0.002);
         calls.make(4, 0, 0.05);
         return calls.next(State::settled, last);
       }}};
  return all;
}

TEST(States, AreThoseOfTheDocumentation) {
  const std::vector<Row> rows = rows_of_the_page();
  ASSERT_EQ(rows.size(), events().size());
  for (const Row& row : rows) {
    SCOPED_TRACE(row.state + ": " + row.event);
    const auto event = events().find(row.event);
    ASSERT_NE(event, events().end());
    const Decision found = event->second();
    EXPECT_EQ(name_of(found.state), row.next);
    EXPECT_EQ(found.target == Target::remote ? "remote" : "local", row.side);
  }
}

}  // namespace
}  // namespace ob::policy
