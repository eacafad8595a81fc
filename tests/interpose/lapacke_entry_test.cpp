// Calls every LAPACKE entry point under a preloaded stand-in, in both layouts, and compares it with
// LAPACKE.

#include <gtest/gtest.h>

#include <cmath>

#include "interpose/entry_names.hpp"
#include "interpose/lapacke_library.hpp"
#include "interpose/spoil.hpp"

namespace ob::test {
namespace {

constexpr int kLegalRounds = 40;
constexpr int kIllegalRounds = 8;

// One row in one affix.
struct Row {
  const Descriptor& routine;
  bool work;         // LAPACKE's middle level, which does not check for NaN
  bool native_work;  // the level of the function that the entry is compared with
  void* native;
  void* entry;
};

// Calls `body` for every row in every affix. Functions in which LAPACKE crashes are compared with
// their middle-level forms, but only if no call goes to the original.
template <class Body>
void for_each_entry(bool all_calls_go_out, Body body) {
  Natives natives(lapacke_library());
  for (const std::string& pattern : patterns()) {
    for (const Descriptor& routine : routines::all()) {
      if (routine.library != Library::lapack) continue;
      const bool work = pattern.find("_work") != std::string::npos;
      const std::string name = applied(pattern, routine.name);
      const std::string plain = "LAPACKE_" + std::string(routine.name) + (work ? "_work" : "");
      const bool crashes = lapacke_crashes(routine, work);
      if (crashes && !(all_calls_go_out && mode_is("compute"))) {
        natives.leave_out(plain);
        continue;
      }
      void* native = natives.find(plain + (crashes ? "_work" : ""));
      void* entry = bound(name.c_str());
      ASSERT_NE(entry, nullptr) << name;
      if (native == nullptr) continue;
      SCOPED_TRACE(name);
      body(Row{routine, work, work || crashes, native, entry});
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

void run(ForeignCall& call, bool work, std::size_t integers) {
  const ForeignCalls& calls = foreign_calls(index_of(*call.problem.routine));
  (work ? calls.lapacke_work : calls.c)[integers](call);
  EXPECT_FALSE(call.overran) << call.problem.text();
}

// LAPACKE 3.11 does not update row-major B if the routine scales it (FACT = 'E'). The documentation
// says that it does.
void forgive_unscaled_rhs(const Problem& given, const Problem& actual, Problem& expected) {
  if (!given.row_major || given.flag("fact") != 'E') return;
  std::vector<unsigned char>& b = expected.memory[expected.operand("b").argument];
  if (b == given.memory[expected.operand("b").argument])
    b = actual.memory[expected.operand("b").argument];
}

struct Outcome {
  Problem expected;
  Problem actual;
  std::int64_t info;
  std::string wrong;
};

// Runs the library's function, with 32-bit integers, and the entry, and compares the results.
Outcome run_both(const Row& row, const Problem& given, int layout = 0) {
  Outcome outcome{given, given, 0, {}};
  ForeignCall of_library{row.native, outcome.expected};
  ForeignCall of_entry{row.entry, outcome.actual};
  of_library.layout = of_entry.layout = layout;
  run(of_library, row.native_work, 0);
  outcome.info = of_library.info;
  run(of_entry, row.work, wide());
  EXPECT_EQ(of_entry.info, of_library.info) << given.text();
  forgive_unscaled_rhs(given, outcome.actual, outcome.expected);
  outcome.wrong = difference(given, outcome.expected, outcome.actual);
  return outcome;
}

TEST(LapackeEntry, EveryRoutineAffixAndLayoutMatchesTheLibrary) {
  auto random = fresh_random();
  for_each_entry(true, [&](const Row& row) {
    for (int round = 0; round < kLegalRounds; ++round) {
      const std::int64_t largest = round + 2 < kLegalRounds ? 12 : 24;
      const bool row_major = round % 2 == 1;
      // Trivial calls go to the original. No original has 64-bit integers.
      const bool has_original = wide() == 0 && row.work == row.native_work;
      const Problem given =
          random_lapacke_problem(row.routine, random, largest, row_major, has_original);
      const Counted counted(row.routine);
      const Outcome outcome = run_both(row, given);
      // (For n = 0 sytrf answers a query with 0, and LAPACKE 3.11 uses it as a length.)
      ASSERT_TRUE(outcome.info == 0 || row.routine.trivial(given.arguments))
          << "the library refuses a legal call with " << outcome.info << ": " << given.text();
      counted.expect(given, outcome.expected);
      if (counted.went_out()) expect_only_results(given, outcome.actual);
      // LAPACKE copies row-major scratch memory back even if a quick return has not written it.
      if (row_major && row.routine.trivial(given.arguments)) continue;
      ASSERT_TRUE(outcome.wrong.empty()) << outcome.wrong;
    }
  });
}

// Puts a NaN into an input element, or into a real number; returns false if there is none.
bool put_nan(Problem& p, std::mt19937_64& random) {
  std::vector<std::pair<std::size_t, std::array<std::uint64_t, 2>>> places;
  for (std::size_t i = 0; i < p.routine->kinds.size(); ++i) {
    if (p.routine->kinds[i] == Kind::real_scalar) places.push_back({i, {}});
  }
  for (const Operand& o : p.operands.span()) {
    const Number number = p.number_of(o);
    if (!o.read || (number != Number::element && number != Number::real)) continue;
    std::vector<std::array<std::uint64_t, 2>> elements;
    for (std::uint64_t j = 0; j < o.cols; ++j) {
      for (std::uint64_t i = 0; i < o.rows; ++i) {
        if (referenced(o.triangle, i, j)) elements.push_back({i, j});
      }
    }
    if (!elements.empty())
      places.push_back(
          {o.argument, elements[uniform<std::size_t>(random, 0, elements.size() - 1)]});
  }
  if (places.empty()) return false;
  const auto [argument, at] = places[uniform<std::size_t>(random, 0, places.size() - 1)];
  if (p.routine->kinds[argument] == Kind::real_scalar) {
    p.arguments[argument].scalar.re = NAN;
    return true;
  }
  for (const Operand& o : p.operands.span()) {
    if (o.argument == argument) p.set(o, at[0], at[1], {NAN, 0});
  }
  return true;
}

TEST(LapackeEntry, NanIsRefusedAsTheLibraryRefusesIt) {
  if (wide() == 1) return;  // these calls go to the original, and there is no ILP64 LAPACKE
  auto random = fresh_random();
  int refused = 0;
  for_each_entry(false, [&](const Row& row) {
    for (int round = 0; round < 6 && !row.work; ++round) {
      Problem given = random_lapacke_problem(row.routine, random, 6, round % 2 == 1, false);
      if (!put_nan(given, random)) continue;
      const Counted counted(row.routine);
      const Outcome outcome = run_both(row, given);
      EXPECT_FALSE(counted.went_out()) << given.text();
      // LAPACKE accepts a NaN in an argument that it does not check (vl with RANGE = 'I').
      if (outcome.info >= 0) continue;
      ++refused;
      EXPECT_TRUE(outcome.wrong.empty()) << outcome.wrong;
    }
  });
  EXPECT_GT(refused, 100);
}

TEST(LapackeEntry, IllegalCallsGetTheLibrarysInfo) {
  if (wide() == 1) return;  // for the same reason
  auto random = fresh_random();
  int refused = 0;
  for_each_entry(false, [&](const Row& row) {
    for (int round = 0; round < kIllegalRounds; ++round) {
      Problem given = random_lapacke_problem(row.routine, random, 6, round % 2 == 1, true);
      if (round > 0) spoil(given, random);
      if (!lapacke_is_sound(given)) continue;
      const Counted counted(row.routine);
      const Outcome outcome = run_both(row, given, round == 0 ? 55 : 0);
      // (LAPACKE accepts lda = 0 of an empty row-major matrix, and calls LAPACK with another
      // value.)
      if (outcome.info < 0 && !given.row_major) counted.expect_none();
      if (outcome.info < 0) {
        EXPECT_FALSE(counted.went_out()) << given.text();
      }
      // After a refused row-major call LAPACKE may copy unwritten scratch memory back. gesvx does
      // the same with its workspace.
      if (!given.row_major && row.routine.base != "gesvx") {
        EXPECT_TRUE(outcome.wrong.empty()) << outcome.wrong;
      }
      refused += outcome.info < 0 ? 1 : 0;
    }
  });
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace ob::test
