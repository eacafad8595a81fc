#include "conformance/device/lu.hpp"

#include <algorithm>

namespace ob::test {

Dense lower_factor(const Dense& lu) { return unit_lower(lu, std::min(lu.rows, lu.cols)); }

Dense upper_factor(const Dense& lu) {
  return part(Triangle::upper, block(lu, 0, 0, std::min(lu.rows, lu.cols), lu.cols));
}

Dense product_of_sizes(const Dense& lu) { return abs(lower_factor(lu)) * abs(upper_factor(lu)); }

bool pivots_are_exchanges(const Integers& pivots, std::uint64_t rows) {
  for (std::size_t i = 0; i < pivots.size(); ++i) {
    const std::int64_t p = pivots[i];
    if (p < static_cast<std::int64_t>(i + 1) || p > static_cast<std::int64_t>(rows)) return false;
  }
  return true;
}

Dense exchanged(Dense a, const Integers& pivots) {
  for (std::size_t i = 0; i < pivots.size(); ++i) {
    swap_rows(a, i, static_cast<std::uint64_t>(pivots[i] - 1));
  }
  return a;
}

Dense exchanged_back(Dense a, const Integers& pivots) {
  for (std::size_t i = pivots.size(); i-- > 0;) {
    swap_rows(a, i, static_cast<std::uint64_t>(pivots[i] - 1));
  }
  return a;
}

Dense matrix_of(const Dense& lu, const Integers& pivots) {
  return exchanged_back(lower_factor(lu) * upper_factor(lu), pivots);
}

Dense random_lu(RoutineTest& test, Precision precision, std::uint64_t n) {
  const Dense lower = random_triangle(test, 'L', precision, n);
  return random_triangle(test, 'U', precision, n) + part(Triangle::lower_strict, lower);
}

Integers random_exchanges(RoutineTest& test, std::uint64_t n) {
  Integers pivots(n);
  for (std::uint64_t i = 0; i < n; ++i)
    pivots[i] = static_cast<std::int64_t>(test.random(i + 1, n));
  return pivots;
}

}  // namespace ob::test
