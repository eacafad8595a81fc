// Calls every CBLAS entry point under a preloaded stand-in, in both layouts, and compares it with
// the library's own function.

#include <gtest/gtest.h>

#include "interpose/entry_names.hpp"
#include "interpose/spoil.hpp"
#include "interpose/xerbla.hpp"

namespace ob::test {
namespace {

constexpr int kLegalRounds = 30;
constexpr int kIllegalRounds = 8;

// Compilers return complex values in different ways. The CBLAS has another name for such a routine,
// with an address for the result.
std::string stem(const Descriptor& routine) {
  const bool by_address = is_complex(routine.precision) && routine.base.starts_with("dot");
  return std::string(routine.name) + (by_address ? "_sub" : "");
}

void run(ForeignCall& call) { foreign_calls(index_of(*call.problem.routine)).c[wide()](call); }

// Row-major calls with these flags go to the original: column-major memory would need conjugation.
bool can_leave(const Problem& p) {
  const ForeignCalls& calls = foreign_calls(index_of(*p.routine));
  if (!p.row_major || p.routine->level == 1) return true;
  for (std::size_t i = 0; i < p.routine->kinds.size(); ++i) {
    if ((calls.flipped_trans >> i & 1U) != 0 && p.arguments[i].flag == 'C') return false;
  }
  return !calls.row_major_stays;
}

template <class Body>
void for_each_entry(Body body) {
  Natives natives(reference());
  for (const std::string& pattern : patterns()) {
    for (const Descriptor& routine : routines::all()) {
      if (routine.library != Library::blas) continue;
      const std::string name = applied(pattern, stem(routine));
      void* native = natives.find("cblas_" + stem(routine));
      void* entry = bound(name.c_str());
      ASSERT_NE(entry, nullptr) << name;
      if (native == nullptr) continue;
      SCOPED_TRACE(name);
      body(routine, native, entry);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(CblasEntry, EveryRoutineAffixAndLayoutMatchesTheLibrary) {
  auto random = fresh_random();
  for_each_entry([&](const Descriptor& routine, void* native, void* entry) {
    for (int round = 0; round < kLegalRounds; ++round) {
      const std::int64_t largest = round + 2 < kLegalRounds ? 12 : 40;
      const Problem given = random_problem(routine, random, largest, round % 2 == 1);
      Problem expected = given;
      Problem actual = given;
      ForeignCall of_library{native, expected};
      ForeignCall of_entry{entry, actual};
      g_xerbla_calls = 0;
      run(of_library);
      ASSERT_EQ(g_xerbla_calls, 0) << "the library refuses a legal call: " << given.text();
      const Counted counted(routine);
      run(of_entry);
      if (can_leave(given))
        counted.expect(given, expected);
      else
        counted.expect_none();
      if (counted.went_out()) expect_only_results(given, actual);
      const std::string wrong = difference(given, expected, actual);
      ASSERT_TRUE(wrong.empty()) << wrong;
    }
  });
  EXPECT_EQ(g_shared > 0, mode_is("share"));
}

// The original decides about calls that the reference BLAS calls illegal, and about flags that only
// some libraries accept.
TEST(CblasEntry, IllegalCallsReachTheLibrary) {
  auto random = fresh_random();
  int reported = 0;
  for_each_entry([&](const Descriptor& routine, void* native, void* entry) {
    for (int round = 0; round < kIllegalRounds; ++round) {
      Problem given = random_problem(routine, random, 8, round % 2 == 1);
      Problem expected = given;
      Problem actual = given;
      ForeignCall of_library{native, expected};
      ForeignCall of_entry{entry, actual};
      if (round == 0 && routine.level > 1) {
        of_library.layout = of_entry.layout = 99;
      } else if (can_spoil(routine)) {
        spoil(given, random);
        expected = actual = given;
      } else {
        continue;
      }
      g_xerbla_calls = 0;
      run(of_library);
      const int expected_calls = g_xerbla_calls;
      g_xerbla_calls = 0;
      const Counted counted(routine);
      run(of_entry);
      counted.expect_none();
      EXPECT_EQ(g_xerbla_calls, expected_calls) << given.text();
      reported += g_xerbla_calls;
      const std::string wrong = difference(given, expected, actual);
      EXPECT_TRUE(wrong.empty()) << wrong;
    }
  });
  if (environment("OB_HANDLER_HIDDEN").empty()) {
    EXPECT_GT(reported, 100);
  }
}

// The reference CBLAS accepts ConjTrans of a complex symmetric update, and silently computes
// another.
TEST(CblasEntry, RowMajorConjTransOfASymmetricUpdateIsNotMadeLegal) {
  Natives natives(reference());
  auto random = fresh_random();
  for (const char* name : {"csyrk", "zsyrk", "csyr2k", "zsyr2k"}) {
    const Descriptor& routine = *routines::find(name);
    Problem given = random_work(routine, random, 8, true);
    while (given.flag("trans") != 'T') given = random_work(routine, random, 8, true);
    given.arguments[given.position("trans")].flag = 'C';
    Problem expected = given;
    Problem actual = given;
    ForeignCall of_library{natives.find("cblas_" + std::string(name)), expected};
    ForeignCall of_entry{bound(applied(patterns()[0], name).c_str()), actual};
    run(of_library);
    const Counted counted(routine);
    run(of_entry);
    counted.expect_none();
    EXPECT_EQ(difference(given, expected, actual), "");
  }
}

}  // namespace
}  // namespace ob::test
