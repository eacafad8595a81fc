// Tests checks of results: the results of a library pass for every call, and damaged ones fail.

#include "verify/verification.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <string>

#include "routines/random_problem.hpp"
#include "support/original.hpp"

namespace ob::test {
namespace {

using verify::SavedOperand;
using verify::Verdict;
using verify::Verification;

// The memory of a call before and after it runs.
struct Ran {
  Problem before;
  Problem after;
};

Ran run(const Problem& problem) {
  Ran ran{problem, problem};
  run_original(ran.after);
  return ran;
}

// Copies the matrices that are read and written. All other elements are poison.
std::vector<std::vector<unsigned char>> save(const Problem& before,
                                             std::vector<SavedOperand>& saved) {
  std::vector<std::vector<unsigned char>> memory;
  for (const Operand& o : before.operands.span()) {
    if (!o.read || !o.written || before.kind_of(o) != Kind::matrix) continue;
    std::vector<unsigned char> copy(o.rows * o.cols * o.element_bytes);
    poison(copy);
    for (std::uint64_t j = 0; j < o.cols; ++j) {
      for (std::uint64_t i = 0; i < o.rows; ++i) {
        if (referenced(o.triangle, i, j))
          std::memcpy(copy.data() + (j * o.rows + i) * o.element_bytes, before.at(o, i, j),
                      o.element_bytes);
      }
    }
    memory.push_back(std::move(copy));
    saved.push_back({o.argument, memory.back().data()});
  }
  return memory;
}

Verification check(const Ran& ran, std::uint64_t seed) {
  std::vector<SavedOperand> saved;
  const auto memory = save(ran.before, saved);
  return verify::verify_call(*ran.after.routine, ran.after.arguments, saved, seed);
}

std::string tell(const Ran& ran, const Verification& v) {
  return ran.before.text() + ": residual " + std::to_string(v.residual) + ", bound " +
         std::to_string(v.bound);
}

std::vector<const Descriptor*> verifiable() {
  std::vector<const Descriptor*> found;
  for (const Descriptor& routine : routines::all()) {
    if (verify::is_verifiable(routine)) found.push_back(&routine);
  }
  return found;
}

// Returns the first operand whose elements are results.
const Operand& result_of(const Problem& problem, std::string_view name = {}) {
  for (const Operand& o : problem.operands.span()) {
    if (o.written && problem.kind_of(o) == Kind::matrix &&
        (name.empty() || problem.name_of(o) == name))
      return o;
  }
  std::abort();
}

struct Position {
  std::uint64_t i;
  std::uint64_t j;
};

// Returns a random element that the routine writes; any element if it writes none (a unit triangle
// of one row).
Position random_element(const Operand& o, std::mt19937_64& random) {
  Position at{0, 0};
  for (int i = 0; i < 1000; ++i) {
    at = {uniform<std::uint64_t>(random, 0, o.rows - 1),
          uniform<std::uint64_t>(random, 0, o.cols - 1)};
    if (referenced(o.written_triangle, at.i, at.j)) break;
  }
  return at;
}

double largest(const Problem& problem, const Operand& o) {
  double most = 0;
  for (std::uint64_t j = 0; j < o.cols; ++j) {
    for (std::uint64_t i = 0; i < o.rows; ++i) {
      if (referenced(o.written_triangle, i, j))
        most = std::max(most, std::abs(problem.value(o, i, j)));
    }
  }
  return most;
}

double largest_difference(const Problem& x, const Problem& y, const Operand& o) {
  double most = 0;
  for (std::uint64_t j = 0; j < o.cols; ++j) {
    for (std::uint64_t i = 0; i < o.rows; ++i) {
      if (referenced(o.written_triangle, i, j))
        most = std::max(most, std::abs(x.value(o, i, j) - y.value(o, i, j)));
    }
  }
  return most;
}

TEST(VerifyTest, TwentyFamiliesInAllTheirPrecisions) {
  std::map<std::string_view, int> bases;
  for (const Descriptor* routine : verifiable()) ++bases[routine->base];
  EXPECT_EQ(bases.size(), 20U);
}

TEST(VerifyTest, ResultsOfALibraryPass) {
  auto random = fresh_random();
  std::map<std::string_view, int> unchecked;
  for (const Descriptor* routine : verifiable()) {
    for (int round = 0; round < 120; ++round) {
      const std::int64_t size = round < 80 ? 9 : round < 116 ? 40 : 150;
      const Ran ran = run(random_work(*routine, random, size));
      const Verification v = check(ran, random());
      ASSERT_NE(v.verdict, Verdict::wrong) << tell(ran, v);
      unchecked[routine->name] += v.verdict == Verdict::unchecked ? 1 : 0;
    }
    EXPECT_LE(unchecked[routine->name], 10) << routine->name;
  }
}

// One matrix has values from the smallest to the largest ones. An underflow is not an error.
TEST(VerifyTest, ResultsFromScaledOperandsPass) {
  auto random = fresh_random();
  for (const Descriptor* routine : verifiable()) {
    if (routine->library != Library::blas) continue;
    for (int round = 0; round < 60; ++round) {
      Problem problem = random_work(*routine, random, 20);
      for (const Operand& o : problem.operands.span()) {
        if (!o.read || problem.kind_of(o) != Kind::matrix) continue;
        const bool a_of_solution = routine->base == "trsm" && problem.name_of(o) == "a";
        const int most = a_of_solution ? 3 : real_bytes(routine->precision) == 4 ? 40 : 300;
        for (std::uint64_t j = 0; j < o.cols; ++j) {
          for (std::uint64_t i = 0; i < o.rows; ++i) {
            if (!referenced(o.triangle, i, j)) continue;
            const auto power = static_cast<double>(uniform(random, -most, most / 8));
            problem.set(o, i, j, problem.value(o, i, j) * std::exp2(power));
          }
        }
      }
      const Ran ran = run(problem);
      const Verification v = check(ran, random());
      ASSERT_NE(v.verdict, Verdict::wrong) << tell(ran, v);
    }
  }
}

// Every element has an error of one unit in the last place.
TEST(VerifyTest, LastPlacesDoNotMatter) {
  auto random = fresh_random();
  for (const Descriptor* routine : verifiable()) {
    for (int round = 0; round < 20; ++round) {
      Ran ran = run(random_work(*routine, random, 24));
      if (check(ran, random()).verdict != Verdict::right) continue;
      const Operand& o = result_of(ran.after);
      for (std::uint64_t j = 0; j < o.cols; ++j) {
        for (std::uint64_t i = 0; i < o.rows; ++i) {
          if (!referenced(o.written_triangle, i, j)) continue;
          const double sign = uniform(random, 0, 1) != 0 ? 1 : -1;
          ran.after.set(o, i, j,
                        ran.after.value(o, i, j) * (1 + sign * epsilon(routine->precision)));
        }
      }
      const Verification v = check(ran, random());
      EXPECT_EQ(v.verdict, Verdict::right) << tell(ran, v);
    }
  }
}

// Damages results in calls of each routine. One of `checks` checks must find the damage.
enum class Of { every_routine, some_routines };
void expect_found(Of of, std::int64_t size,
                  const std::function<bool(Ran&, std::mt19937_64&)>& damage, int checks = 1) {
  constexpr int count = 25;
  auto random = fresh_random();
  for (const Descriptor* routine : verifiable()) {
    int damaged = 0;
    for (int round = 0; round < 20 * count && damaged < count; ++round) {
      Ran ran = run(random_work(*routine, random, size));
      if (check(ran, random()).verdict != Verdict::right || !damage(ran, random)) continue;
      ++damaged;
      Verdict verdict = Verdict::right;
      for (int i = 0; i < checks && verdict == Verdict::right; ++i) {
        verdict = check(ran, random()).verdict;
      }
      EXPECT_EQ(verdict, Verdict::wrong) << ran.before.text();
    }
    if (of == Of::every_routine) {
      EXPECT_GT(damaged, 0) << routine->name;
    }
  }
}

TEST(VerifyTest, OneWrongElementIsFound) {
  expect_found(Of::every_routine, 30, [](Ran& ran, std::mt19937_64& random) {
    const bool second = ran.after.has("nrhs") && uniform(random, 0, 1) != 0;
    const Operand& o = result_of(ran.after, second ? "b" : "");
    const auto [i, j] = random_element(o, random);
    if (!referenced(o.written_triangle, i, j)) return false;
    const double off = largest(ran.after, o) * 0.5 + 0.01;
    ran.after.set(o, i, j, ran.after.value(o, i, j) + off);
    return true;
  });
}

// The residual has the difference of two random numbers as a factor. In single precision it is
// below rounding errors in about one of 100,000 checks.
TEST(VerifyTest, ExchangedColumnsAreFound) {
  const auto exchange = [](Ran& ran, std::mt19937_64& random) {
    const Operand& o = result_of(ran.after);
    if (o.written_triangle != Triangle::full || o.cols < 2 || o.rows < 4) return false;
    const auto a = uniform<std::uint64_t>(random, 0, o.cols - 2);
    for (std::uint64_t i = 0; i < o.rows; ++i) {
      const auto kept = ran.after.value(o, i, a);
      ran.after.set(o, i, a, ran.after.value(o, i, o.cols - 1));
      ran.after.set(o, i, o.cols - 1, kept);
    }
    return a != o.cols - 1;
  };
  expect_found(Of::some_routines, 9, exchange, 3);
}

// Simulates columns that were never computed or never sent: they keep their previous contents.
TEST(VerifyTest, MissingColumnsAreFound) {
  expect_found(Of::every_routine, 30, [](Ran& ran, std::mt19937_64&) {
    const Operand& o = result_of(ran.after);
    const double size = largest(ran.after, o);
    double changed = 0;
    for (std::uint64_t j = o.cols / 2; j < o.cols; ++j) {
      for (std::uint64_t i = 0; i < o.rows; ++i) {
        if (!referenced(o.written_triangle, i, j)) continue;
        const auto old = o.read ? ran.before.value(o, i, j) : 0;
        changed = std::max(changed, std::abs(ran.after.value(o, i, j) - old));
        ran.after.set(o, i, j, old);
      }
    }
    return changed > 0.1 * size;
  });
}

// The result is C := alpha A B instead of C := alpha A B + beta C.
TEST(VerifyTest, AForgottenBetaIsFound) {
  auto random = fresh_random();
  int damaged = 0;
  for (const Descriptor* routine : verifiable()) {
    for (int round = 0; round < 20; ++round) {
      Problem problem = random_work(*routine, random, 20);
      const int beta = problem.position("beta");
      if (beta < 0 || std::abs(problem.scalar("beta")) < 0.1) continue;
      Problem without = problem;
      without.arguments[beta].scalar = {0, 0};
      Ran ran{problem, without};
      run_original(ran.after);
      ran.after.arguments[beta].scalar = problem.arguments[beta].scalar;
      // a Hermitian result of order 1 has only a real part, which may be very small
      const Operand& o = result_of(ran.after);
      if (largest_difference(run(problem).after, ran.after, o) < 0.1 * largest(ran.after, o))
        continue;
      ++damaged;
      EXPECT_EQ(check(ran, random()).verdict, Verdict::wrong) << ran.before.text();
    }
  }
  EXPECT_GT(damaged, 100);
}

// The result is that for the other triangle of A.
TEST(VerifyTest, TheWrongTriangleIsFound) {
  auto random = fresh_random();
  int damaged = 0;
  for (const char* name : {"dtrmm", "ztrmm", "dtrsm", "csymm", "zhemm"}) {
    const Descriptor& routine = *routines::find(name);
    for (int round = 0; round < 20; ++round) {
      Problem problem = random_work(routine, random, 20);
      const Operand& a = problem.operand("a");
      if (a.rows < 4) continue;
      for (std::uint64_t j = 0; j < a.cols; ++j) {
        for (std::uint64_t i = 0; i < a.rows; ++i) {
          if (i == j) {
            problem.set(a, i, j, 2.0);
          } else if (!referenced(a.triangle, i, j)) {
            problem.set(a, i, j, 0.25 / static_cast<double>(1 + i + j));
          }
        }
      }
      Problem other = problem;
      char& uplo = other.arguments[other.position("uplo")].flag;
      uplo = uplo == 'U' ? 'L' : 'U';
      other.operands = routine.operands(other.arguments);
      Ran ran{problem, other};
      run_original(ran.after);
      ran.after.arguments[ran.after.position("uplo")].flag = problem.flag("uplo");
      ran.after.operands = problem.operands;
      ++damaged;
      EXPECT_EQ(check(ran, random()).verdict, Verdict::wrong) << ran.before.text();
    }
  }
  EXPECT_GT(damaged, 40);
}

TEST(VerifyTest, WrongPivotsAreFound) {
  auto random = fresh_random();
  for (const char* name : {"sgetrf", "dgetrf", "cgesv", "zgesv"}) {
    for (int round = 0; round < 40; ++round) {
      Ran ran = run(random_work(*routines::find(name), random, 20));
      if (check(ran, random()).verdict != Verdict::right) continue;
      const Operand& o = ran.after.operand("ipiv");
      auto* pivots = reinterpret_cast<std::int64_t*>(ran.after.at(o, 0, 0));
      const auto rows = static_cast<std::int64_t>(ran.after.operand("a").rows);
      if (rows < 2) continue;
      pivots[0] = round % 4 == 0 ? rows + 1 : round % 4 == 1 ? 0 : pivots[0] % rows + 1;
      EXPECT_EQ(check(ran, random()).verdict, Verdict::wrong) << ran.before.text();
    }
  }
}

TEST(VerifyTest, WhatIsNotANumberIsNotChecked) {
  auto random = fresh_random();
  for (const Descriptor* routine : verifiable()) {
    Problem problem = random_work(*routine, random, 12);
    const Operand& a = problem.operand("a");
    const auto [i, j] = random_element(a, random);
    if (!referenced(a.triangle, i, j)) continue;
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      Problem spoilt = problem;
      spoilt.set(a, i, j, bad);
      const Ran ran = run(spoilt);
      EXPECT_EQ(check(ran, random()).verdict, Verdict::unchecked) << ran.before.text();
    }
  }
}

TEST(VerifyTest, NaNFromFiniteOperandsIsWrong) {
  auto random = fresh_random();
  for (const char* name : {"sgemm", "zgemm", "dsyrk", "ctrmm", "dpotrf", "zgetrf"}) {
    Ran ran = run(random_work(*routines::find(name), random, 12));
    const Operand& o = result_of(ran.after);
    const auto [i, j] = random_element(o, random);
    ran.after.set(o, i, j, std::numeric_limits<double>::quiet_NaN());
    EXPECT_EQ(check(ran, random()).verdict, Verdict::wrong) << ran.before.text();
  }
}

TEST(VerifyTest, OtherRoutinesAreNotChecked) {
  auto random = fresh_random();
  for (const Descriptor& routine : routines::all()) {
    if (verify::is_verifiable(routine)) continue;
    const Ran ran = run(random_work(routine, random, 6));
    EXPECT_EQ(check(ran, 1).verdict, Verdict::unchecked) << routine.name;
  }
}

}  // namespace
}  // namespace ob::test
