// Symmetric and Hermitian systems that need not be definite. Multiplies Bunch-Kaufman factors as
// their documentation describes them, and checks solutions. The ratios are those of LAPACK Working
// Note 41, below 30 (DSYT01:
// A - U D U^T
// / (n
// A
// eps), DPOT02:
// B - A X
// / (
// A
// X
// eps)).

#include <algorithm>

#include "conformance/device/algebra.hpp"
#include "conformance/device/oracle.hpp"

namespace ob::test {
namespace {

constexpr Real kRatio = 30;
constexpr int kRounds = 8;

// In complex precisions, too, he... factors use the conjugate transpose and sy... the transpose.
char transpose_of(const Descriptor& routine) { return routine.base[0] == 'h' ? 'C' : 'T'; }

Dense whole(const Descriptor& routine, char uplo, const Dense& a) {
  return routine.base[0] == 'h' ? hermitian(uplo, a) : symmetric(uplo, a);
}

// One diagonal block: `size` columns from `first`.
struct Block {
  std::uint64_t first;
  std::uint64_t size;
  std::uint64_t exchanged;  // with row `partner`
  std::uint64_t partner;
};

// Returns the blocks in the order of the product; empty if the pivots are not valid.
std::vector<Block> blocks_of(char uplo, const Integers& pivots) {
  std::vector<Block> blocks;
  const auto n = static_cast<std::int64_t>(pivots.size());
  const auto in_range = [n](std::int64_t p) { return p >= 1 && p <= n; };
  for (std::int64_t k = 0; k < n; ++k) {
    const bool pair = pivots[k] < 0;
    if (pair && (k + 1 == n || pivots[k + 1] != pivots[k])) return {};
    const std::int64_t partner = pair ? -pivots[k] : pivots[k];
    if (!in_range(partner)) return {};
    // In a pair, the swapped row is the one farther from the start of the elimination.
    const std::int64_t row = pair && uplo == 'L' ? k + 1 : k;
    blocks.push_back({static_cast<std::uint64_t>(k), pair ? 2u : 1u,
                      static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(partner - 1)});
    if (pair) ++k;
  }
  if (uplo == 'L') std::reverse(blocks.begin(), blocks.end());
  return blocks;
}

// W and D of A = W D W^T; W is the product of all P(k) U(k) or P(k) L(k).
struct Factors {
  Dense w;
  Dense d;
};

Factors factors_of(char uplo, const Dense& a, const std::vector<Block>& blocks, bool conjugate) {
  const std::uint64_t n = a.rows;
  Factors made{identity(n), Dense(n, n)};
  for (const Block& block : blocks) {
    const std::uint64_t from = block.first;
    const std::uint64_t to = from + block.size;
    Dense elimination = identity(n);
    for (std::uint64_t j = from; j < to; ++j) {
      made.d(j, j) = a(j, j);
      const std::uint64_t begin = uplo == 'U' ? 0 : to;
      const std::uint64_t end = uplo == 'U' ? from : n;
      for (std::uint64_t i = begin; i < end; ++i) elimination(i, j) = a(i, j);
    }
    if (block.size == 2) {
      const Wide off = uplo == 'U' ? a(from, from + 1) : a(from + 1, from);
      const Wide other = conjugate ? std::conj(off) : off;
      made.d(from, from + 1) = uplo == 'U' ? off : other;
      made.d(from + 1, from) = uplo == 'U' ? other : off;
    }
    made.w = elimination * made.w;
    swap_rows(made.w, block.exchanged, block.partner);
  }
  return made;
}

Dense multiplied_out(const Descriptor& routine, char uplo, const Dense& a,
                     const std::vector<Block>& blocks) {
  const char transpose = transpose_of(routine);
  const Factors f = factors_of(uplo, a, blocks, transpose == 'C');
  return f.w * f.d * op(transpose, f.w);
}

void expect_factors(RoutineTest& test, const Descriptor& routine, const RoutineInput& in,
                    const RoutineOutput& out) {
  const char uplo = in.flag("uplo");
  const Dense a = whole(routine, uplo, in.matrices.at("a"));
  const std::vector<Block> blocks = blocks_of(uplo, out.integers("ipiv"));
  test.require(!blocks.empty(), "the pivots are no exchanges and pairs");
  const Dense error = multiplied_out(routine, uplo, out.matrix("a"), blocks) - a;
  test.at_most(ratio(error, static_cast<Real>(a.rows) * norm_one(a), routine.precision), kRatio,
               "ratio of A - W D W^T");
}

void expect_solution(RoutineTest& test, const Descriptor& routine, const Dense& a, const Dense& x,
                     const Dense& b) {
  test.at_most(ratio(a * x - b, norm_one(a) * norm_one(x), routine.precision), kRatio,
               "ratio of A X - B");
}

// A random matrix with a small diagonal needs 2 x 2 pivots.
Dense random_indefinite(RoutineTest& test, const Descriptor& routine, std::uint64_t n) {
  Dense a = test.random_matrix(routine.precision, n, n);
  for (std::uint64_t i = 0; i < n; ++i) a(i, i) /= 64;
  return a;
}

// Sets diag(1, ..., 0, ..., 1): D(i, i) is exactly zero.
std::int64_t set_singular(RoutineTest& test, RoutineInput& in) {
  const std::uint64_t n = in.dim("n");
  const std::uint64_t i = test.random(0, n - 1);
  in.matrices["a"] = identity(n);
  in.matrices["a"](i, i) = 0;
  return static_cast<std::int64_t>(i) + 1;
}

void check_factor(RoutineTest& test, const Descriptor& routine) {
  for (RoutineInput in : test.flag_combinations(routine)) {
    for (int round = 0; round < kRounds; ++round) {
      in.dims = {{"n", test.some_size()}};
      in.matrices["a"] = random_indefinite(test, routine, in.dim("n"));
      expect_factors(test, routine, in, test.call(routine, in));
      const std::int64_t info = set_singular(test, in);
      expect_factors(test, routine, in, test.call(routine, in, info));
    }
  }
}

void check_solve(RoutineTest& test, const Descriptor& routine) {
  for (RoutineInput in : test.flag_combinations(routine)) {
    for (int round = 0; round < kRounds; ++round) {
      in.dims = {{"n", test.some_size()}, {"nrhs", test.some_size()}};
      in.matrices["a"] = random_indefinite(test, routine, in.dim("n"));
      const Dense& b = in.matrices["b"] =
          test.random_matrix(routine.precision, in.dim("n"), in.dim("nrhs"));
      const RoutineOutput out = test.call(routine, in);
      expect_factors(test, routine, in, out);
      expect_solution(test, routine, whole(routine, in.flag("uplo"), in.matrices["a"]),
                      out.matrix("b"), b);
      const std::int64_t info = set_singular(test, in);
      test.require(test.call(routine, in, info).matrix("b").elements == b.elements,
                   "the right-hand side of a singular system changed");
    }
  }
}

// Returns random pairs and exchanges in the form of sytrf.
Integers random_pivots(RoutineTest& test, char uplo, std::uint64_t n) {
  Integers pivots(n);
  for (std::uint64_t k = 0; k < n;) {
    const std::uint64_t size = k + 1 < n ? test.random(1, 2) : 1;
    const std::uint64_t row = uplo == 'L' && size == 2 ? k + 1 : k;  // the exchanged row
    const std::uint64_t partner = uplo == 'U' ? test.random(0, row) : test.random(row, n - 1);
    for (std::uint64_t i = 0; i < size; ++i) {
      const auto p = static_cast<std::int64_t>(partner) + 1;
      pivots[k + i] = size == 2 ? -p : p;
    }
    k += size;
  }
  return pivots;
}

void check_given_factors(RoutineTest& test, const Descriptor& routine) {
  for (RoutineInput in : test.flag_combinations(routine)) {
    for (int round = 0; round < kRounds; ++round) {
      in.dims = {{"n", test.some_size()}, {"nrhs", test.some_size()}};
      const std::uint64_t n = in.dim("n");
      const char uplo = in.flag("uplo");
      Dense& f = in.matrices["a"] = random_triangle(test, uplo, routine.precision, n);
      in.indices["ipiv"] = random_pivots(test, uplo, n);
      const Dense& b = in.matrices["b"] = test.random_matrix(routine.precision, n, in.dim("nrhs"));
      const Dense a = multiplied_out(routine, uplo, f, blocks_of(uplo, in.indices["ipiv"]));
      expect_solution(test, routine, a, test.call(routine, in).matrix("b"), b);
      in.indices["ipiv"][n / 2] = static_cast<std::int64_t>(n) + 1;
      test.require(test.run(routine, in).status.code() == Code::invalid_argument,
                   "a pivot beyond n is not refused");
      in.indices["ipiv"][n / 2] = 0;
      test.require(test.run(routine, in).status.code() == Code::invalid_argument,
                   "a pivot of 0 is not refused");
    }
  }
}

constexpr Oracle kOracles[] = {
    {"sytrf", check_factor}, {"hetrf", check_factor}, {"sytrs", check_given_factors},
    {"sysv", check_solve},   {"hesv", check_solve},   {"hetrs", check_given_factors},
};

}  // namespace

Oracles indefinite_oracles() { return kOracles; }

}  // namespace ob::test
