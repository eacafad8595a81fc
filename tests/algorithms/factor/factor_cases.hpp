#pragma once
// Random general matrices that several devices factor.

#include <algorithm>
#include <string>

#include "algorithms/factor/factor_matrix.hpp"

namespace ob::test {

struct GeneralCase {
  Precision precision = Precision::d;
  std::uint64_t m = 1;
  std::uint64_t n = 1;
  std::uint64_t ld = 1;
  TestDistribution distribution{};
  double block_bytes = 0;

  std::uint64_t order() const { return std::min(m, n); }
  std::string text() const {
    return std::string(1, "sdcz"[static_cast<int>(precision)]) + " m=" + std::to_string(m) +
           " n=" + std::to_string(n) + " lda=" + std::to_string(ld) + distribution.text();
  }
};

inline GeneralCase random_general_case(std::mt19937_64& random, std::uint64_t most = 70) {
  GeneralCase made;
  made.precision = static_cast<Precision>(uniform(random, 0, 3));
  made.m = uniform<std::uint64_t>(random, 1, most);
  made.n = uniform<std::uint64_t>(random, 1, most);
  made.ld = made.m + uniform<std::uint64_t>(random, 0, 5);
  made.distribution = random_distribution(random, made.n);
  made.block_bytes = uniform<int>(random, 1, 4096);  // a message has several blocks
  return made;
}

/// The 1-norm of X: its largest column sum.
inline double one_norm(const FactorMatrix& x) {
  double most = 0;
  for (std::uint64_t j = 0; j < x.cols(); ++j) {
    double sum = 0;
    for (std::uint64_t i = 0; i < x.rows(); ++i) sum += std::abs(x.get(i, j));
    most = std::max(most, sum);
  }
  return most;
}

/// A dense matrix in double precision, which the oracles compute with.
class Dense {
 public:
  Dense(std::uint64_t rows, std::uint64_t cols) : rows_(rows), values_(rows * cols) {}
  Value& operator()(std::uint64_t i, std::uint64_t j) { return values_[i + j * rows_]; }

 private:
  std::uint64_t rows_;
  std::vector<Value> values_;
};

}  // namespace ob::test
