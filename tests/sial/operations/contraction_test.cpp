#include "sial/operations/contraction.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sial/operations/blocks.hpp"
#include "support/random.hpp"

namespace ob::sial::test {
namespace {

using ob::test::fresh_random;
using ob::test::uniform;

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr Assign kAssigns[] = {Assign::set, Assign::add, Assign::subtract};

struct Problem {
  Labels m, n, k;
  Extents extents;
};

// Ranks up to 8 with extents that keep the oracle's loops below `most` steps.
Problem draw_problem(std::mt19937_64& random, std::int64_t most) {
  while (true) {
    Problem problem;
    const auto m = uniform<std::size_t>(random, 0, 4);
    const auto n = uniform<std::size_t>(random, 0, std::min<std::size_t>(4, kMaxRank - m));
    const auto k = uniform<std::size_t>(random, 0, 4);
    problem.m = some_labels(0, m);
    problem.n = some_labels(10, n);
    problem.k = some_labels(20, k);
    const Labels all = problem.m + problem.n + problem.k;
    problem.extents = draw_extents(random, all, 7);
    std::int64_t steps = 1;
    for (const auto& [label, extent] : problem.extents) steps *= extent;
    if (steps <= most) return problem;
  }
}

// What the elements of D must be, and how far they may be off.
void check(Block& d, Block& b1, Block& b2, const Problem& problem, Assign assign) {
  for_all(problem.m + problem.n, problem.extents, [&](const Position& outer) {
    long double sum = 0;
    long double size = 0;
    std::int64_t terms = 0;
    for_all(problem.k, problem.extents, [&](Position position) {
      position.insert(outer.begin(), outer.end());
      const long double product =
          static_cast<long double>(b1.before(position)) * b2.before(position);
      sum += product;
      size += std::fabs(product);
      ++terms;
    });
    if (assign == Assign::subtract) sum = -sum;
    if (assign != Assign::set) {
      sum += d.before(outer);
      size += std::fabs(d.before(outer));
    }
    const auto bound = static_cast<double>(size) * kEps * static_cast<double>(2 * terms + 4);
    ASSERT_NEAR(d.at(outer), static_cast<double>(sum), bound);
  });
}

void run_random_problem(std::mt19937_64& random, Gemm& gemm, Scratch& scratch, std::int64_t most) {
  const Problem problem = draw_problem(random, most);
  Labels of_d = shuffled(random, problem.m + problem.n);
  Labels of_b1 = shuffled(random, problem.m + problem.k);
  Labels of_b2 = shuffled(random, problem.k + problem.n);
  add_simple(random, of_d, 2, kFirstSimple);
  add_simple(random, of_b1, 2, kFirstSimple);
  add_simple(random, of_b2, 2, kFirstSimple + 1);
  Block d(random, of_d, problem.extents);
  Block b1(random, of_b1, problem.extents);
  Block b2(random, of_b2, problem.extents);
  const Assign assign = kAssigns[uniform(random, 0, 2)];
  if (assign == Assign::set) {  // NaN in the old D
    for_all(problem.m + problem.n, problem.extents,
            [&](const Position& at) { d.at(at) = std::numeric_limits<double>::quiet_NaN(); });
  }
  d.save();
  ASSERT_TRUE(contract(d.view(), b1.read(), b2.read(), assign, gemm, scratch).ok());
  check(d, b1, b2, problem, assign);
  EXPECT_TRUE(d.intact_around());
  EXPECT_TRUE(b1.intact());
  EXPECT_TRUE(b2.intact());
}

TEST(Contraction, AgreesWithLoopsOverLabels) {
  auto random = fresh_random();
  LoopGemm gemm;
  Scratch scratch;
  for (int i = 0; i < 600 && !HasFatalFailure(); ++i) {
    run_random_problem(random, gemm, scratch, 20000);
  }
}

TEST(Contraction, AgreesBeyondTheSmallLoops) {
  auto random = fresh_random();
  LoopGemm gemm;
  Scratch scratch;
  for (int i = 0; i < 8 && !HasFatalFailure(); ++i) {
    run_random_problem(random, gemm, scratch, 400000);
  }
}

// Counts calls and stores the last shape; computes as LoopGemm does.
class CountingGemm final : public Gemm {
 public:
  void run(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
           const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double beta,
           double* c, std::int64_t ldc) override {
    ++calls;
    loops_.run(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  }
  int calls = 0;

 private:
  LoopGemm loops_;
};

struct Form {
  Labels d, b1, b2;
  int permuted;  // operands
};

// Which products need no copy is a property of the label orders alone, if each extent is long.
TEST(Contraction, CopiesOnlyWhatGemmCannotReadInPlace) {
  const Form forms[] = {
      {{0, 1, 10, 11}, {0, 1, 20, 21}, {20, 21, 10, 11}, 0},  // plain
      {{10, 11, 0, 1}, {0, 1, 20, 21}, {20, 21, 10, 11}, 0},  // operands exchanged
      {{0, 1, 10, 11}, {20, 21, 0, 1}, {10, 11, 20, 21}, 0},  // both transposed
      {{1, 0, 11, 10}, {1, 0, 21, 20}, {21, 20, 11, 10}, 0},  // another order in the groups
      {{0, 10, 1, 11}, {0, 1, 20, 21}, {20, 21, 10, 11}, 1},  // D interleaved
      {{0, 1, 10, 11}, {0, 20, 1, 21}, {20, 21, 10, 11}, 1},  // B1 interleaved
      {{0, 1, 10, 11}, {0, 20, 1, 21}, {20, 10, 21, 11}, 2},
  };
  const Extents extents = {{0, 7}, {1, 6}, {10, 7}, {11, 6}, {20, 7}, {21, 6}};
  // Starts of gemm that cost a lot leave no loops around it.
  ContractionRates rates;
  rates.gemm_start_s = 1;
  for (const Form& form : forms) {
    View d, b1, b2;
    const auto dense = [&](View& view, const Labels& labels) {
      std::int64_t stride = 1;
      for (const std::uint32_t label : labels) {
        view.labels[view.rank] = label;
        view.strides[view.rank] = stride;
        view.extents[view.rank++] = extents.at(label);
        stride *= extents.at(label);
      }
    };
    dense(d, form.d);
    dense(b1, form.b1);
    dense(b2, form.b2);
    const ContractionPlan plan = ContractionPlan::make(d, read_only(b1), read_only(b2), rates);
    const auto& operands = plan.layout().operands;
    EXPECT_EQ(std::count_if(operands.begin(), operands.end(),
                            [](const OperandLayout& operand) { return operand.permuted; }),
              form.permuted);
    EXPECT_EQ(plan.layout().outer, 0U);
    EXPECT_EQ(plan.layout().m, 42);
  }
}

TEST(Contraction, LoopsOverGemmWhereALabelMakesViews) {
  auto random = fresh_random();
  // D[a,b,c] = B1[a,k,b] B2[k,c]: one product per b.
  Problem problem{{0, 1}, {10}, {20}, {{0, 40}, {1, 3}, {10, 30}, {20, 40}}};
  Block d(random, {0, 1, 10}, problem.extents);
  Block b1(random, {0, 20, 1}, problem.extents);
  Block b2(random, {20, 10}, problem.extents);
  ContractionRates rates;
  rates.gemm_start_s = 0;
  rates.bytes_per_s = 1e8;
  const auto plan = ContractionPlan::make(d.view(), b1.read(), b2.read(), rates);
  ASSERT_EQ(plan.layout().outer, 1U);
  CountingGemm gemm;
  Scratch scratch;
  for (const Assign assign : kAssigns) {
    d.save();
    gemm.calls = 0;
    ASSERT_TRUE(contract(plan, d.view(), b1.read(), b2.read(), assign, gemm, scratch).ok());
    EXPECT_EQ(gemm.calls, 3);
    check(d, b1, b2, problem, assign);
  }
}

TEST(Contraction, LoopsOverASummedLabelAddUp) {
  auto random = fresh_random();
  // D[a,c] = B1[k,a,l] B2[l,c,k]: k and l are no neighbours in either operand.
  Problem problem{{0}, {10}, {20, 21}, {{0, 30}, {10, 30}, {20, 40}, {21, 4}}};
  Block d(random, {0, 10}, problem.extents);
  Block b1(random, {20, 0, 21}, problem.extents);
  Block b2(random, {20, 10, 21}, problem.extents);
  ContractionRates rates;
  rates.gemm_start_s = 0;
  rates.bytes_per_s = 1e8;
  const auto plan = ContractionPlan::make(d.view(), b1.read(), b2.read(), rates);
  ASSERT_EQ(plan.layout().outer, 1U);
  EXPECT_TRUE(plan.layout().outer_sums[0]);
  LoopGemm gemm;
  Scratch scratch;
  for (const Assign assign : kAssigns) {
    d.save();
    ASSERT_TRUE(contract(plan, d.view(), b1.read(), b2.read(), assign, gemm, scratch).ok());
    check(d, b1, b2, problem, assign);
  }
}

TEST(Contraction, ReadsOperandsBeforeTheResultChanges) {
  auto random = fresh_random();
  LoopGemm gemm;
  Scratch scratch;
  for (const Assign assign : kAssigns) {
    for (const bool first : {true, false}) {
      const std::int64_t extent = uniform<std::int64_t>(random, 1, 30);
      Problem problem{{0}, {10}, {20}, {{0, extent}, {10, extent}, {20, extent}}};
      Block b1(random, {0, 20}, problem.extents);
      Block b2(random, {20, 10}, problem.extents);
      Block& d = first ? b1 : b2;
      View as_d = d.view();
      as_d.labels = {0, 10};
      const ConstView read1 = b1.read();
      const ConstView read2 = b2.read();
      ASSERT_TRUE(contract(as_d, read1, read2, assign, gemm, scratch).ok());
      for (std::int64_t i = 0; i < extent; ++i) {
        for (std::int64_t j = 0; j < extent; ++j) {
          long double sum = 0;
          for (std::int64_t p = 0; p < extent; ++p) {
            sum += static_cast<long double>(b1.before({{0, i}, {20, p}})) *
                   b2.before({{20, p}, {10, j}});
          }
          const Position here = first ? Position{{0, i}, {20, j}} : Position{{20, i}, {10, j}};
          const double old = d.before(here);
          if (assign == Assign::subtract) sum = -sum;
          if (assign != Assign::set) sum += old;
          ASSERT_NEAR(d.at(here), static_cast<double>(sum),
                      kEps * static_cast<double>((2 * extent + 4) * (extent + 1)));
        }
      }
      EXPECT_TRUE(d.intact_around());
    }
  }
}

}  // namespace
}  // namespace ob::sial::test
