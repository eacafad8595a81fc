#include "device/permute/moves.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support/random.hpp"

namespace ob::test {
namespace {

// Values that are small integers have exact sums, in any order and with fused operations.
std::vector<double> draw_integers(std::mt19937_64& random, std::int64_t count) {
  std::vector<double> drawn(static_cast<std::size_t>(count));
  for (double& element : drawn) element = uniform(random, -9, 9);
  return drawn;
}

void check_transpose(std::mt19937_64& random, const Moves& loops) {
  const auto rows = uniform<std::int64_t>(random, 1, 80);
  const auto columns = uniform<std::int64_t>(random, 1, 80);
  const std::int64_t ldd = rows + uniform<std::int64_t>(random, 0, 3);
  const std::int64_t ldb = columns + uniform<std::int64_t>(random, 0, 3);
  const auto b = draw_integers(random, ldb * rows);
  auto d = draw_integers(random, ldd * columns);
  const auto old = d;
  const int store = uniform(random, 0, 2);
  loops.transpose(d.data(), ldd, b.data(), ldb, rows, columns, 3, store);
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < ldd; ++i) {
      const auto at = static_cast<std::size_t>(i + j * ldd);
      double want = old[at];
      if (i < rows) {
        const double value = b[static_cast<std::size_t>(j + i * ldb)];
        want = store == 0 ? value : store == 1 ? 3 * value : want + 3 * value;
      }
      ASSERT_EQ(d[at], want);
    }
  }
}

TEST(Moves, TransposeForBothInstructionSets) {
  auto random = fresh_random();
  for (int i = 0; i < 50 && !HasFatalFailure(); ++i) {
    check_transpose(random, moves());
    check_transpose(random, baseline_moves());
  }
}

void check_runs(std::mt19937_64& random, const Moves& loops) {
  const auto rows = uniform<std::int64_t>(random, 1, 50);
  const auto columns = uniform<std::int64_t>(random, 1, 5);
  const std::int64_t ldd = rows + uniform<std::int64_t>(random, 0, 3);
  const std::int64_t ldb = rows + uniform<std::int64_t>(random, 0, 3);
  const auto b = draw_integers(random, ldb * columns);
  auto d = draw_integers(random, ldd * columns);
  const auto old = d;
  const int store = uniform(random, 0, 2);
  loops.runs(d.data(), ldd, b.data(), ldb, rows, columns, -2, store);
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < ldd; ++i) {
      const auto at = static_cast<std::size_t>(i + j * ldd);
      double want = old[at];
      if (i < rows) {
        const double value = b[static_cast<std::size_t>(i + j * ldb)];
        want = store == 0 ? value : store == 1 ? -2 * value : want - 2 * value;
      }
      ASSERT_EQ(d[at], want);
    }
  }
}

TEST(Moves, RunsForBothInstructionSets) {
  auto random = fresh_random();
  for (int i = 0; i < 50 && !HasFatalFailure(); ++i) {
    check_runs(random, moves());
    check_runs(random, baseline_moves());
  }
}

void check_stream(std::mt19937_64& random, const Moves& loops) {
  const auto count = uniform<std::int64_t>(random, 0, 100);
  const auto to = uniform<std::int64_t>(random, 0, 20);
  const auto from = uniform<std::int64_t>(random, 0, 20);
  const auto b = draw_integers(random, from + count);
  auto d = draw_integers(random, to + count + 20);
  auto want = d;
  std::copy_n(b.begin() + from, count, want.begin() + to);
  loops.stream(d.data() + to, b.data() + from, count);
  loops.drain();
  ASSERT_EQ(d, want);
}

TEST(Moves, StreamForBothInstructionSets) {
  auto random = fresh_random();
  for (int i = 0; i < 200 && !HasFatalFailure(); ++i) {
    check_stream(random, moves());
    check_stream(random, baseline_moves());
  }
}

}  // namespace
}  // namespace ob::test
