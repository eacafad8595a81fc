// Tests Cholesky on several devices: the residual, the untouched memory, LAPACK's info, the
// traffic.

#include "algorithms/factor/cholesky.hpp"

#include "algorithms/factor/factor_matrix.hpp"

namespace ob::test {
namespace {

using algorithms::CholeskyFactorization;

struct Case {
  Precision precision = Precision::d;
  bool lower = true;
  std::uint64_t n = 1;
  std::uint64_t ld = 1;
  TestDistribution distribution{};
  double block_bytes = 0;
  std::string text() const {
    return std::string(1, "sdcz"[static_cast<int>(precision)]) + "potrf " + (lower ? "L" : "U") +
           " n=" + std::to_string(n) + " lda=" + std::to_string(ld) + distribution.text();
  }
};

Case random_case(std::mt19937_64& random) {
  Case made;
  made.precision = static_cast<Precision>(uniform(random, 0, 3));
  made.lower = uniform(random, 0, 1) == 1;
  made.n = uniform<std::uint64_t>(random, 1, 90);
  made.ld = made.n + uniform<std::uint64_t>(random, 0, 5);
  made.distribution = random_distribution(random, made.n);
  made.block_bytes = uniform<int>(random, 1, 4096);  // a message has several blocks
  return made;
}

bool in_triangle(bool lower, std::uint64_t i, std::uint64_t j) { return lower ? i >= j : i <= j; }

// Computes |A - L L^H| of the leading `n` rows and columns, element by element.
double residual(const Case& what, const FactorMatrix& given, const FactorMatrix& factor,
                std::uint64_t n) {
  double worst = 0;
  for (std::uint64_t j = 0; j < n; ++j) {
    for (std::uint64_t i = j; i < n; ++i) {
      Value sum = 0;
      for (std::uint64_t k = 0; k <= j; ++k) {
        sum += what.lower ? factor.get(i, k) * std::conj(factor.get(j, k))
                          : std::conj(factor.get(k, i)) * factor.get(k, j);
      }
      worst = std::max(worst, std::abs(given.get(i, j) - sum));
    }
  }
  return worst;
}

class Job {
 public:
  Job(const Case& what, FactorMatrix& a)
      : exchange_(host_exchange(cpu_devices(what.distribution.devices()), what.block_bytes)),
        factorization_(*exchange_, {what.precision, what.lower, what.n, a.operand()},
                       what.distribution.of(what.n)) {}
  Status run() { return factorization_.run(); }
  std::int64_t commit() { return factorization_.commit(); }
  const algorithms::HostExchange& exchange() const { return *exchange_; }

 private:
  std::unique_ptr<algorithms::HostExchange> exchange_;
  CholeskyFactorization factorization_;
};

TEST(FactorCholesky, FactorsOneTriangleAndTouchesNothingElse) {
  auto random = fresh_random();
  for (int round = 0; round < 400; ++round) {
    const Case what = random_case(random);
    SCOPED_TRACE(what.text());
    FactorMatrix a(what.precision, what.n, what.n, what.ld);
    a.fill_definite(random);
    FactorMatrix full = a;
    // the call must not use the other triangle
    for (std::uint64_t j = 0; j < what.n; ++j) {
      for (std::uint64_t i = 0; i < what.n; ++i) {
        if (!in_triangle(what.lower, i, j)) a.set(i, j, {777, 0});
      }
    }
    const FactorMatrix given = a;
    Job run(what, a);
    const Status status = run.run();
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(a, given) << "before commit()";
    ASSERT_EQ(run.commit(), 0);
    // Higham, Theorem 10.3: |A - L L^H| <= gamma_{n+1} |L||L^H|. The diagonal of L L^H is that of A
    const double bound = 8.0 * static_cast<double>(what.n + 1) * unit_of(what.precision) *
                         static_cast<double>(2 * what.n + 1);
    ASSERT_LE(residual(what, full, a, what.n), bound);
    for (std::uint64_t j = 0; j < what.n; ++j) {
      for (std::uint64_t i = 0; i < what.ld; ++i) {
        if (i < what.n && in_triangle(what.lower, i, j)) continue;
        ASSERT_TRUE(a.same_bytes(given, i, j)) << i << ' ' << j;
      }
    }
  }
}

TEST(FactorCholesky, InfoNamesTheFirstMinorThatIsNotPositive) {
  auto random = fresh_random();
  for (int round = 0; round < 100; ++round) {
    const Case what = random_case(random);
    SCOPED_TRACE(what.text());
    FactorMatrix a(what.precision, what.n, what.n, what.ld);
    a.fill_definite(random);
    const auto bad = uniform<std::uint64_t>(random, 0, what.n - 1);
    a.set(bad, bad, -1);
    if (bad + 1 < what.n) a.set(what.n - 1, what.n - 1, -1);  // a later minor is not reported
    const FactorMatrix given = a;
    Job run(what, a);
    ASSERT_TRUE(run.run().ok());
    ASSERT_EQ(run.commit(), static_cast<std::int64_t>(bad + 1));
    const std::uint64_t blocks_before = bad / what.distribution.block * what.distribution.block;
    const double bound = 8.0 * static_cast<double>(what.n + 1) * unit_of(what.precision) *
                         static_cast<double>(2 * what.n + 1);
    ASSERT_LE(residual(what, given, a, blocks_before), bound);
  }
}

TEST(FactorCholesky, EachPanelIsReceivedOnceByThoseWhoNeedIt) {
  auto random = fresh_random();
  for (const std::size_t devices : {1, 2, 3, 4}) {
    const Case what{Precision::d, true, 96, 96, {8, std::vector<double>(devices, 1.0)}, 1024};
    FactorMatrix a(what.precision, what.n, what.n, what.ld);
    a.fill_definite(random);
    Job run(what, a);
    ASSERT_TRUE(run.run().ok());
    std::uint64_t sent = 0;
    std::uint64_t fetched = 0;
    std::uint64_t received = 0;
    for (std::size_t at = 0; at < devices; ++at) {
      sent += run.exchange().traffic(algorithms::Rank(at)).sent;
      fetched += run.exchange().traffic(algorithms::Rank(at)).fetched;
      received += run.exchange().traffic(algorithms::Rank(at)).received;
    }
    const std::uint64_t blocks = what.n / what.distribution.block;
    EXPECT_EQ(sent, what.n * (what.n + 1) / 2 * 8);
    EXPECT_EQ(fetched, sent + blocks * 8);  // includes an info for each panel
    std::uint64_t expected = 0;
    for (std::uint64_t k = 0; k + 1 < blocks; ++k) {
      std::vector<bool> needs(devices);
      for (std::uint64_t j = k + 1; j < blocks; ++j) needs[j % devices] = true;
      needs[k % devices] = false;
      const auto takers = static_cast<std::uint64_t>(std::count(needs.begin(), needs.end(), true));
      expected +=
          takers * (what.n - (k + 1) * what.distribution.block) * what.distribution.block * 8;
    }
    EXPECT_EQ(received, expected) << devices;
  }
}

}  // namespace
}  // namespace ob::test
