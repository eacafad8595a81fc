// Tests workspace and callbacks of Fortran and of LAPACKE's middle-level entries under a preloaded
// stand-in. Devices do not get these arguments; they must behave as in the library itself.
// OB_ABI: fortran or lapacke_work.

#include <gtest/gtest.h>

#include "interpose/entry_names.hpp"
#include "interpose/lapacke_library.hpp"
#include "interpose/xerbla.hpp"

namespace ob::test {
namespace {

bool is_fortran() { return environment("OB_ABI") == "fortran"; }

void* library() { return is_fortran() ? reference() : lapacke_library(); }

void run(ForeignCall& call) {
  const ForeignCalls& calls = foreign_calls(index_of(*call.problem.routine));
  (is_fortran() ? calls.fortran : calls.lapacke_work)[wide()](call);
  EXPECT_FALSE(call.overran) << call.problem.text();
}

bool same(double x, double y) { return std::memcmp(&x, &y, sizeof x) == 0; }

// One row in one affix.
struct Row {
  const Descriptor& routine;
  void* native;
  void* entry;
  int lengths;
};

// Calls `body` for every row that `chosen` accepts.
template <class Chosen, class Body>
void for_each_row(Chosen chosen, Body body) {
  Natives natives(library());
  for (const std::string& pattern : patterns()) {
    if (!is_fortran() && pattern.find("_work") == std::string::npos) continue;
    for (const Descriptor& routine : routines::all()) {
      const ForeignCalls& calls = foreign_calls(index_of(routine));
      if (routine.library != Library::lapack || !chosen(calls)) continue;
      const std::string name(routine.name);
      void* native = natives.find(is_fortran() ? name + "_" : "LAPACKE_" + name + "_work");
      void* entry = bound(applied(pattern, name).c_str());
      ASSERT_NE(entry, nullptr) << applied(pattern, name);
      if (native == nullptr) continue;
      SCOPED_TRACE(applied(pattern, name));
      body(Row{routine, native, entry, calls.lengths});
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

bool has_lengths(const ForeignCalls& calls) { return calls.lengths > 0; }

Problem any_problem(const Row& row, std::mt19937_64& random) {
  if (is_fortran()) return random_work(row.routine, random, 12);
  return random_lapacke_problem(row.routine, random, 12, uniform(random, 0, 1) == 1, false);
}

struct Both {
  Problem expected;
  Problem actual;
  ForeignCall native;
  ForeignCall entry;

  Both(const Row& row, const Problem& given)
      : expected(given), actual(given), native{row.native, expected}, entry{row.entry, actual} {}
  Both(const Both&) = delete;
  Both& operator=(const Both&) = delete;

  // Runs both and expects the same outcome.
  void run_and_compare(const Problem& given) {
    g_xerbla_calls = 0;
    run(native);
    const int reported = g_xerbla_calls;
    g_xerbla_calls = 0;
    run(entry);
    if (is_fortran()) {  // otherwise the library has its own handler
      EXPECT_EQ(g_xerbla_calls, reported) << given.text();
    }
    EXPECT_EQ(entry.info, native.info) << given.text();
    // After a refused row-major call LAPACKE may copy unwritten scratch memory back.
    if (given.row_major && native.info < 0) return;
    const std::string wrong = difference(given, expected, actual);
    EXPECT_TRUE(wrong.empty()) << wrong;
  }
  void expect_same_first(int lengths) const {
    for (int i = 0; i < lengths; ++i) {
      EXPECT_TRUE(same(entry.first[i], native.first[i]))
          << entry.problem.text() << ": work " << i << " begins with " << entry.first[i] << ", not "
          << native.first[i];
    }
  }
};

TEST(WorkspaceEntry, QueriesInAnyLengthAreTheLibrarys) {
  auto random = fresh_random();
  int queries = 0;
  for_each_row(has_lengths, [&](const Row& row) {
    for (int which = 0; which <= row.lengths; ++which) {  // each length alone, then all together
      const Problem given = any_problem(row, random);
      Both both(row, given);
      for (int i = 0; i < row.lengths; ++i) {
        if (i == which || which == row.lengths) both.native.lengths[i] = both.entry.lengths[i] = -1;
      }
      const Counted counted(row.routine);
      both.run_and_compare(given);
      counted.expect_none();
      both.expect_same_first(row.lengths);
      for (const Operand& o : given.operands.span()) {
        if (given.name_of(o) == "info") continue;
        EXPECT_EQ(both.actual.memory[o.argument], given.memory[o.argument]) << given.text();
      }
      ++queries;
    }
  });
  EXPECT_GT(queries, 100);
}

TEST(WorkspaceEntry, TooShortWorkspaceReachesTheErrorHandler) {
  auto random = fresh_random();
  int refused = 0;
  for_each_row(has_lengths, [&](const Row& row) {
    for (int which = 0; which < row.lengths; ++which) {
      const Problem given = any_problem(row, random);
      Both both(row, given);
      Problem measured = given;
      ForeignCall measure{row.native, measured};
      for (int i = 0; i < row.lengths; ++i) measure.lengths[i] = -1;
      run(measure);
      // The reference's gelsy accepts less than the documented minimum, and then its geqp3 fails.
      const bool trap = row.routine.base == "gelsy";
      both.native.lengths[which] = both.entry.lengths[which] = trap ? 0 : measure.least[which] - 1;
      const Counted counted(row.routine);
      both.run_and_compare(given);
      counted.expect_none();
      refused += both.native.problem.info() < 0 ? 1 : 0;
    }
  });
  // Some documented minima are larger than needed, so not all calls are refused.
  EXPECT_GT(refused, 60);
}

// The smallest workspace is enough for the entry, and a longer one works, too. After the call its
// first element is the best length of the original, which programs read there even if a device ran
// the call.
TEST(WorkspaceEntry, LeastIsEnoughAndBeginsWithTheBestLength) {
  auto random = fresh_random();
  for_each_row(has_lengths, [&](const Row& row) {
    for (const std::int64_t more : {0, 1000}) {
      const Problem given = any_problem(row, random);
      Problem measured = given;
      ForeignCall query{row.native, measured};
      for (int i = 0; i < row.lengths; ++i) query.lengths[i] = -1;
      run(query);
      Both both(row, given);
      for (int i = 0; i < row.lengths; ++i)
        both.native.lengths[i] = both.entry.lengths[i] = query.least[i] + more;
      const Counted counted(row.routine);
      both.run_and_compare(given);
      EXPECT_EQ(both.native.problem.info(), 0) << given.text();
      counted.expect(given, both.expected);
      if (mode_is("compute")) {
        for (int i = 0; i < row.lengths; ++i) both.native.first[i] = query.first[i];
      }
      both.expect_same_first(row.lengths);
    }
  });
}

// Real routines pass two addresses to this callback. Complex routines pass one.
int g_selections = 0;
template <class Real>
std::int64_t select(const Real* part, const void*) {
  ++g_selections;
  return *part > Real(1.5) ? 1 : 0;
}

void* select_for(Precision precision) {
  return real_bytes(precision) == 4 ? reinterpret_cast<void*>(&select<float>)
                                    : reinterpret_cast<void*>(&select<double>);
}

TEST(WorkspaceEntry, CallbacksAreCalledByTheOriginal) {
  auto random = fresh_random();
  const auto has_callback = [](const ForeignCalls& calls) { return calls.has_callback; };
  int selected = 0;
  for_each_row(has_callback, [&](const Row& row) {
    for (int round = 0; round < 4; ++round) {
      Problem given = any_problem(row, random);
      given.arguments[given.position("sort")].flag = 'S';
      Both both(row, given);
      both.native.callback = both.entry.callback = select_for(row.routine.precision);
      const Counted counted(row.routine);
      g_selections = 0;
      run(both.native);
      const int expected = g_selections;
      g_selections = 0;
      run(both.entry);
      EXPECT_EQ(g_selections, expected) << given.text();
      EXPECT_GT(g_selections, 0) << given.text();
      counted.expect_none();
      EXPECT_EQ(both.entry.problem.info(), both.native.problem.info()) << given.text();
      const std::string wrong = difference(given, both.expected, both.actual);
      EXPECT_TRUE(wrong.empty()) << wrong;
      selected += static_cast<int>(both.actual.index(both.actual.operand("sdim"), 0));
    }
  });
  EXPECT_GT(selected, 0);
}

}  // namespace
}  // namespace ob::test
