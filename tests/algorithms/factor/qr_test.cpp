// Tests QR on several devices: the residual, the orthogonality, the untouched memory.

#include "algorithms/factor/qr.hpp"

#include "algorithms/factor/factor_cases.hpp"

namespace ob::test {
namespace {

using algorithms::QrFactorization;

// Computes H_0 H_1 ... X with the reflectors below the diagonal of `factors`.
void apply_q(const GeneralCase& what, const FactorMatrix& factors, const FactorMatrix& tau,
             Dense& x, std::uint64_t cols) {
  for (std::uint64_t k = what.order(); k-- > 0;) {
    for (std::uint64_t j = 0; j < cols; ++j) {
      Value dot = x(k, j);
      for (std::uint64_t i = k + 1; i < what.m; ++i) dot += std::conj(factors.get(i, k)) * x(i, j);
      dot *= tau.get(k, 0);
      x(k, j) -= dot;
      for (std::uint64_t i = k + 1; i < what.m; ++i) x(i, j) -= factors.get(i, k) * dot;
    }
  }
}

TEST(FactorQr, GivesReflectorsAndR) {
  auto random = fresh_random();
  for (int round = 0; round < 80; ++round) {
    const GeneralCase what = random_general_case(random);
    SCOPED_TRACE(what.text());
    FactorMatrix a(what.precision, what.m, what.n, what.ld);
    a.fill(random);
    FactorMatrix tau(what.precision, what.order(), 1, what.order() + 3);
    const FactorMatrix tau_before = tau;
    const FactorMatrix given = a;
    const auto exchange = host_exchange(cpu_devices(what.distribution.devices()), what.block_bytes);
    QrFactorization qr(*exchange, {what.precision, what.m, what.n, a.operand()},
                       what.distribution.of(what.n));
    const Status status = qr.run();
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(a, given) << "before commit()";
    qr.commit(tau.operand().data);

    // Higham, Theorem 19.4: the error is c m n u |A| for each column; |Q^H Q - I| has the same
    // bound
    const double units = 10.0 * static_cast<double>(what.m + what.n) * unit_of(what.precision);
    Dense product(what.m, what.n);
    for (std::uint64_t j = 0; j < what.n; ++j) {
      for (std::uint64_t i = 0; i <= std::min(j, what.m - 1); ++i) product(i, j) = a.get(i, j);
    }
    apply_q(what, a, tau, product, what.n);
    for (std::uint64_t j = 0; j < what.n; ++j) {
      for (std::uint64_t i = 0; i < what.m; ++i) {
        ASSERT_LE(std::abs(product(i, j) - given.get(i, j)), units * one_norm(given))
            << i << ' ' << j;
      }
    }
    Dense q(what.m, what.m);
    for (std::uint64_t i = 0; i < what.m; ++i) q(i, i) = 1;
    apply_q(what, a, tau, q, what.m);
    for (std::uint64_t j = 0; j < what.m; ++j) {
      Value norm = 0;
      Value beside = 0;
      for (std::uint64_t i = 0; i < what.m; ++i) {
        norm += std::conj(q(i, j)) * q(i, j);
        beside += std::conj(q(i, j)) * q(i, (j + 1) % what.m);
      }
      ASSERT_LE(std::abs(norm - 1.0), units * 10);
      if (what.m > 1) {
        ASSERT_LE(std::abs(beside), units * 10);
      }
    }
    for (std::uint64_t j = 0; j < what.n; ++j) {
      for (std::uint64_t i = what.m; i < what.ld; ++i) ASSERT_TRUE(a.same_bytes(given, i, j));
    }
    for (std::uint64_t i = what.order(); i < tau.ld(); ++i) {
      ASSERT_TRUE(tau.same_bytes(tau_before, i, 0));
    }
  }
}

}  // namespace
}  // namespace ob::test
