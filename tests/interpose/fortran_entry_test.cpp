// Every Fortran entry point under a preloaded stand-in, against the library itself. OB_PATTERNS
// names the affixes
// ("%s_ scipy_%s_"; %S: upper case), OB_REFERENCE the library to compare with.

#include <gtest/gtest.h>

#include <cctype>
#include <sstream>
#include <stdexcept>

#include "backend/cpu/thunk.hpp"
#include "interpose/standin_counts.hpp"
#include "routines/problem.hpp"

namespace {
int g_xerbla_calls = 0;
bool g_xerbla_throws = false;
}  // namespace

// The program's own error handler, as testers and interpreters have it.
extern "C" [[gnu::visibility("default")]] void xerbla_(const char*, const void*, std::size_t) {
  ++g_xerbla_calls;
  if (g_xerbla_throws) throw std::runtime_error("xerbla");
}

namespace ob::test {
namespace {

std::vector<std::string> patterns() {
  std::istringstream words(std::getenv("OB_PATTERNS"));
  std::vector<std::string> result;
  for (std::string word; words >> word;) result.push_back(word);
  return result;
}

std::string applied(const std::string& pattern, std::string_view name) {
  const std::size_t at = pattern.find('%');
  std::string middle(name);
  if (pattern[at + 1] == 'S') {
    for (char& c : middle) c = static_cast<char>(std::toupper(c));
  }
  return pattern.substr(0, at) + middle + pattern.substr(at + 2);
}

void* reference() {
  static void* const handle = dlopen(std::getenv("OB_REFERENCE"), RTLD_NOW | RTLD_LOCAL);
  return handle;
}

void check_calls(const Problem& problem, int calls_before, int done_before) {
  const bool trivial = problem.routine->trivial(problem.arguments);
  if (mode_is("small")) return;  // the first call only
  EXPECT_GT(calls(), calls_before) << problem.text();
  if (mode_is("compute")) {
    EXPECT_EQ(done() > done_before, !trivial) << problem.text();
  }
}

TEST(FortranEntry, EveryRoutineAndAffixMatchesTheLibrary) {
  if (reference() == nullptr) GTEST_SKIP() << dlerror();
  auto random = fresh_random();
  for (const std::string& pattern : patterns()) {
    for (std::size_t i = 0; i < routines::all().size(); ++i) {
      const Descriptor& routine = routines::all()[i];
      const cpu::ThunkEntry& thunk = cpu::thunks()[i];
      const std::string name = applied(pattern, routine.name);
      void* entry = bound(name.c_str());
      void* native = dlsym(reference(), thunk.symbol);
      ASSERT_NE(entry, nullptr) << name;
      ASSERT_NE(native, nullptr) << thunk.symbol;
      for (int round = 0; round < 25; ++round) {
        const Problem given = random_problem(routine, random, round < 20 ? 12 : 40);
        Problem expected = given;
        Problem actual = given;
        for (Problem* p : {&expected, &actual}) {  // lower case is as good
          for (std::size_t a = 0; round % 2 == 1 && a < routine.kinds.size(); ++a) {
            if (routine.kinds[a] == Kind::flag) {
              p->arguments[a].flag = static_cast<char>(std::tolower(p->arguments[a].flag));
            }
          }
        }
        thunk.thunk(native, expected.arguments);
        const int calls_before = calls();
        const int done_before = done();
        thunk.thunk(entry, actual.arguments);
        check_calls(given, calls_before, done_before);
        const std::string wrong = difference(expected, actual);
        ASSERT_TRUE(wrong.empty()) << name << ": " << wrong;
      }
    }
  }
}

// Makes one leading dimension or flag of a legal call illegal.
void spoil(Problem& p, std::mt19937_64& random) {
  std::int64_t lds[kMaxArguments];
  std::copy_n(p.lds, kMaxArguments, lds);
  do {
    const std::size_t i = uniform<std::size_t>(random, 0, p.routine->kinds.size() - 1);
    if (p.routine->kinds[i] == Kind::flag) p.arguments[i].flag = "XQ"[uniform(random, 0, 1)];
    if (p.routine->kinds[i] == Kind::dim) p.arguments[i].dim = -1;
    if (p.routine->kinds[i] == Kind::matrix) lds[i] = p.arguments[i].host.ld = 0;
  } while (p.routine->legal(p.arguments, lds));
}

// Calls `function`; true if the handler's exception came through.
bool throws(cpu::Thunk thunk, void* function, Problem& problem) {
  try {
    thunk(function, problem.arguments);
  } catch (const std::runtime_error&) {
    return true;
  }
  return false;
}

TEST(FortranEntry, IllegalCallsReachTheLibrarysErrorHandler) {
  if (reference() == nullptr) GTEST_SKIP() << dlerror();
  int reported = 0;
  auto random = fresh_random();
  for (const std::string& pattern : patterns()) {
    for (std::size_t i = 0; i < routines::all().size(); ++i) {
      const Descriptor& routine = routines::all()[i];
      void* entry = bound(applied(pattern, routine.name).c_str());
      for (int round = 0; round < 10; ++round) {
        Problem problem = random_problem(routine, random, 8);
        spoil(problem, random);
        Problem expected = problem;
        const int calls_before = calls();
        g_xerbla_throws = round % 2 == 1;
        g_xerbla_calls = 0;
        const bool expect_throw =
            throws(cpu::thunks()[i].thunk, dlsym(reference(), cpu::thunks()[i].symbol), expected);
        const int expected_calls =
            g_xerbla_calls;  // OpenBLAS is generous about leading dimensions of nothing
        g_xerbla_calls = 0;
        EXPECT_EQ(throws(cpu::thunks()[i].thunk, entry, problem), expect_throw) << problem.text();
        EXPECT_EQ(g_xerbla_calls, expected_calls) << problem.text();
        EXPECT_EQ(calls(), calls_before) << problem.text();
        reported += g_xerbla_calls;
        const std::string wrong = difference(expected, problem);
        EXPECT_TRUE(wrong.empty()) << wrong;
      }
    }
  }
  // A library that was loaded bound to itself first does not see the program's handler.
  const char* hidden = std::getenv("OB_HANDLER_HIDDEN");
  if (hidden == nullptr) {
    EXPECT_GT(reported, 100);
  }
}

TEST(FortranEntry, InfoOfAFailedFactorisationIsTheLibrarys) {
  const Descriptor* potrf = routines::find("zpotrf");
  const auto index = static_cast<std::size_t>(potrf - routines::all().data());
  for (const std::string& pattern : patterns()) {
    auto random = fresh_random();
    Problem problem = random_problem(*potrf, random, 9);
    while (problem.arguments[1].dim < 4) problem = random_problem(*potrf, random, 9);
    const Operand& a = problem.operand("a");
    store(Precision::z, problem.at(a, 2, 2),
          -1.0);  // not positive definite from the third minor on
    cpu::thunks()[index].thunk(bound(applied(pattern, "zpotrf").c_str()), problem.arguments);
    EXPECT_EQ(problem.index(problem.operand("info"), 0), 3) << pattern;
  }
}

}  // namespace
}  // namespace ob::test
