#pragma once
// Calls that can be computed in panels, and their expected traffic.

#include <random>
#include <string>
#include <vector>

#include "algorithms/panels/panels.hpp"
#include "routines/problem.hpp"
#include "support/random.hpp"

namespace ob::test {

using algorithms::PanelSchedule;

inline std::vector<const Descriptor*> routines_in_panels() {
  std::vector<const Descriptor*> found;
  const Argument arguments[kMaxArguments];
  for (const Descriptor& routine : routines::all()) {
    if (algorithms::panel_shape(routine, arguments)) found.push_back(&routine);
  }
  return found;
}

inline PanelSchedule in_parts(const Problem& problem, unsigned parts) {
  return schedule_panels(*algorithms::panel_shape(*problem.routine, problem.arguments), parts);
}

// Returns a random schedule: strips in half of the cases, if the routine allows them.
inline PanelSchedule some_schedule(const Problem& problem, std::mt19937_64& random,
                                   unsigned most = 6) {
  const auto shape = *algorithms::panel_shape(*problem.routine, problem.arguments);
  const unsigned parts = uniform(random, 1U, most);
  const bool strips =
      shape.form == algorithms::PanelShape::Form::one_side && uniform(random, 0, 1) == 1;
  return strips ? schedule_strips(shape, parts) : schedule_panels(shape, parts);
}

inline std::string text_of(const PanelSchedule& schedule) {
  return std::to_string(schedule.panels.size()) + (schedule.in_strips ? " strips" : " panels");
}

inline bool is_in_place(const Problem& problem) { return !problem.has("c"); }

// Counts the bytes of the elements that are sent, one by one. C is not sent.
inline std::uint64_t sent_bytes(const Problem& problem) {
  std::uint64_t bytes = 0;
  for (const Operand& o : problem.operands.span()) {
    if (problem.name_of(o) == "c") continue;
    for (std::uint64_t j = 0; j < o.cols; ++j) {
      for (std::uint64_t i = 0; i < o.rows; ++i) {
        if (referenced(o.triangle, i, j)) bytes += o.element_bytes;
      }
    }
  }
  return bytes;
}

inline std::uint64_t result_bytes(const Problem& problem) {
  const Operand& o = problem.operand(is_in_place(problem) ? "b" : "c");
  const bool full = o.written_triangle == Triangle::full;
  return o.element_bytes * (full ? o.rows * o.cols : o.rows * (o.rows + 1) / 2);
}

inline void set_beta(Problem& problem, Complex beta) {
  if (is_in_place(problem)) return;
  const int at = problem.position("beta");
  const bool real = problem.routine->kinds[static_cast<std::size_t>(at)] == Kind::real_scalar ||
                    !is_complex(problem.routine->precision);
  problem.arguments[at].scalar = {beta.re, real ? 0 : beta.im};
  problem.operands = problem.routine->operands(problem.arguments);
}

// Restores the memory of a problem. The vectors keep their addresses.
inline void restore(Problem& problem, const Problem& given) {
  for (std::size_t i = 0; i < given.memory.size(); ++i) {
    std::copy(given.memory[i].begin(), given.memory[i].end(), problem.memory[i].begin());
  }
}

}  // namespace ob::test
