// Calls every Fortran entry point under a preloaded stand-in, and compares it with the library.

#include <gtest/gtest.h>

#include <stdexcept>

#include "backend/cpu/thunk.hpp"
#include "interpose/entry_names.hpp"
#include "interpose/spoil.hpp"
#include "interpose/xerbla.hpp"

namespace ob::test {
namespace {

constexpr int kLegalRounds = 40;
constexpr int kIllegalRounds = 8;
constexpr int kMostUndecided = 3;  // of some 10^5 problems; most runs have none

// Half of the calls are made like those of a daemon, with the best workspace after a query. The
// other half have the smallest legal workspace and flags in lower case, which are legal, too.
void call(std::size_t routine, void* function, Problem& problem, bool least) {
  if (!least) {
    cpu::thunks()[routine].thunk(function, problem.arguments);
    return;
  }
  for (std::size_t i = 0; i < problem.routine->kinds.size(); ++i) {
    char& flag = problem.arguments[i].flag;
    if (problem.routine->base == "trtrs") break;  // OpenBLAS 0.3.21 refuses lower case
    if (problem.routine->kinds[i] == Kind::flag) flag = static_cast<char>(std::tolower(flag));
  }
  ForeignCall foreign{function, problem};
  foreign_calls(routine).fortran[wide()](foreign);
  EXPECT_FALSE(foreign.overran) << problem.text();
}

std::int64_t largest_of(const Descriptor& routine, int round) {
  return round + 2 < kLegalRounds ? 12 : routine.library == Library::blas ? 40 : 24;
}

// Returns true if the library's own results depend on rounding errors.
bool depends_on_rounding(std::size_t routine, void* native, const Problem& given,
                         const Problem& expected, bool least) {
  constexpr int kAttempts = 50;  // about half of them show it
  std::mt19937_64 random;
  for (int i = 0; i < kAttempts; ++i) {
    Problem other = nudged(given, random);
    call(routine, native, other, least);
    if (!difference(given, expected, other).empty()) return true;
  }
  return false;
}

// Runs one problem with the library and with the entry. Checks the result and where it ran.
void compare(std::size_t routine, void* native, void* entry, const Problem& given, bool least) {
  Problem expected = given;
  Problem actual = given;
  g_xerbla_calls = 0;
  call(routine, native, expected, least);
  const int reported = g_xerbla_calls;
  // (The reference's gelsd passes nrhs = 0 to a routine that does not allow it.)
  ASSERT_TRUE(reported == 0 || given.routine->trivial(given.arguments))
      << "the library refuses a legal call: " << given.text();
  g_xerbla_calls = 0;
  const Counted counted(*given.routine);
  call(routine, entry, actual, least);
  counted.expect(given, expected);
  EXPECT_EQ(g_xerbla_calls, reported) << given.text();
  if (counted.went_out()) expect_only_results(given, actual);
  const std::string wrong = difference(given, expected, actual);
  if (wrong.empty()) return;
  ASSERT_TRUE(depends_on_rounding(routine, native, given, expected, least)) << wrong;
  static int undecided = 0;
  ASSERT_LE(++undecided, kMostUndecided) << wrong;
}

// Calls `body` for every row in every affix, with the native function and the entry.
template <class Body>
void for_each_entry(Natives& natives, Body body) {
  for (const std::string& pattern : patterns()) {
    for (const Descriptor& routine : routines::all()) {
      const std::string name = applied(pattern, routine.name);
      void* native = natives.find(std::string(routine.name) + "_");
      void* entry = bound(name.c_str());
      ASSERT_NE(entry, nullptr) << name;
      if (native == nullptr) continue;
      SCOPED_TRACE(name);
      body(routine, native, entry);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(FortranEntry, EveryRoutineAndAffixMatchesTheLibrary) {
  Natives natives(reference());
  auto random = fresh_random();
  for_each_entry(natives, [&](const Descriptor& routine, void* native, void* entry) {
    for (int round = 0; round < kLegalRounds; ++round) {
      const Problem given = random_problem(routine, random, largest_of(routine, round));
      compare(index_of(routine), native, entry, given, round % 2 == 1);
      if (testing::Test::HasFatalFailure()) return;
    }
  });
  EXPECT_EQ(g_shared > 0, mode_is("share"));
}

// Sets a factored matrix to zero: then there are no factors, no inverse, no Cholesky factor of B.
bool make_singular(Problem& p, std::mt19937_64& random) {
  const bool pencil = p.has("b") && !p.has("nrhs");
  const char* name = pencil && uniform(random, 0, 1) == 1 ? "b" : "a";
  if (!p.has(name) || !p.has("info")) return false;
  const Operand& o = p.operand(name);
  // Division by zero would give arbitrary NaNs, and ggev on such pencils arbitrary vectors.
  if (!(o.written || o.consumed) || p.routine->base == "ggev") return false;
  for (std::uint64_t j = 0; j < o.cols; ++j) {
    for (std::uint64_t i = 0; i < o.rows; ++i) {
      if (referenced(o.triangle, i, j)) p.set(o, i, j, 0);
    }
  }
  return true;
}

TEST(FortranEntry, InfoOfSingularMatricesIsTheLibrarys) {
  Natives natives(reference());
  auto random = fresh_random();
  int failed = 0;
  for_each_entry(natives, [&](const Descriptor& routine, void* native, void* entry) {
    for (int round = 0; round < 4; ++round) {
      Problem given = random_work(routine, random, 9);
      if (!make_singular(given, random)) return;
      compare(index_of(routine), native, entry, given, round % 2 == 1);
      if (testing::Test::HasFatalFailure()) return;
      Problem again = given;
      call(index_of(routine), entry, again, false);
      failed += again.info() > 0 ? 1 : 0;
    }
  });
  EXPECT_GT(failed, 50);
}

// Calls `function`; returns true if the handler's exception passed through it.
bool throws(std::size_t routine, void* function, Problem& problem) {
  try {
    call(routine, function, problem, true);
  } catch (const std::runtime_error&) {
    return true;
  }
  return false;
}

TEST(FortranEntry, IllegalCallsReachTheLibrarysErrorHandler) {
  Natives natives(reference());
  int reported = 0;
  auto random = fresh_random();
  for_each_entry(natives, [&](const Descriptor& routine, void* native, void* entry) {
    for (int round = 0; round < kIllegalRounds && can_spoil(routine); ++round) {
      Problem given = random_problem(routine, random, 8);
      spoil(given, random);
      Problem expected = given;
      Problem actual = given;
      const Counted counted(routine);
      g_xerbla_throws = round % 2 == 1;
      g_xerbla_calls = 0;
      const bool expect_throw = throws(index_of(routine), native, expected);
      // OpenBLAS accepts some illegal leading dimensions of empty matrices.
      const int expected_calls = g_xerbla_calls;
      g_xerbla_calls = 0;
      EXPECT_EQ(throws(index_of(routine), entry, actual), expect_throw) << given.text();
      EXPECT_EQ(g_xerbla_calls, expected_calls) << given.text();
      counted.expect_none();
      reported += g_xerbla_calls;
      const std::string wrong = difference(given, expected, actual);
      EXPECT_TRUE(wrong.empty()) << wrong;
    }
    g_xerbla_throws = false;
  });
  // A library that was bound to its own handler when it was loaded does not call the program's.
  if (environment("OB_HANDLER_HIDDEN").empty()) {
    EXPECT_GT(reported, 100);
  }
}

}  // namespace
}  // namespace ob::test
