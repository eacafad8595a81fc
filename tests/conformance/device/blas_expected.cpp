#include "conformance/device/blas_expected.hpp"

#include <limits>

namespace ob::test {

Wide wide(Complex x) { return {x.re, x.im}; }

Wide scalar_of(const RoutineInput& in, std::string_view name) {
  return wide(in.scalars.find(name)->second);
}

bool is_zero(Complex x) { return x.re == 0 && x.im == 0; }

Real terms(std::uint64_t k) { return static_cast<Real>(k + 2); }

Expected product(const RoutineInput& in, const Dense& result, const Dense& x, const Dense& y,
                 const Dense& c) {
  const Wide alpha = scalar_of(in, "alpha");
  const Wide beta = scalar_of(in, "beta");
  Dense right(result.rows, result.cols);
  Dense bound(result.rows, result.cols);
  if (alpha != Wide(0)) {
    right = alpha * (x * y);
    bound = Wide(std::abs(alpha)) * (abs(x) * abs(y));
  }
  if (beta != Wide(0)) {
    right = right + beta * c;
    bound = bound + Wide(std::abs(beta)) * abs(c);
  }
  return {result - right, terms(x.cols) * bound};
}

Expected residual(const Dense& a, bool left, const Dense& x, const Dense& scaled_b) {
  const Dense size = left ? abs(a) * abs(x) : abs(x) * abs(a);
  return {(left ? a * x : x * a) - scaled_b, Wide(terms(a.rows)) * (size + abs(scaled_b))};
}

void expect(RoutineTest& test, const Descriptor& routine, const Expected& expected,
            Triangle triangle) {
  test.at_most(worst_ratio(expected.error, expected.bound, triangle),
               kBlasTolerance * epsilon(routine.precision), "error of an element over its terms");
}

void set_scalars(RoutineTest& test, const Descriptor& routine, RoutineInput& in,
                 std::uint64_t alpha, std::uint64_t beta) {
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    const std::string name(routine.argument_names[i]);
    const bool real = routine.kinds[i] == Kind::real_scalar || !is_complex(routine.precision);
    if (routine.kinds[i] != Kind::scalar && routine.kinds[i] != Kind::real_scalar) continue;
    in.scalars[name] = test.random_scalar(routine.precision, name == "alpha" ? alpha : beta);
    if (real) in.scalars[name].im = 0;
  }
}

void set_sizes(RoutineTest& test, RoutineInput& in, std::uint64_t largest) {
  for (auto& [name, value] : in.dims) {
    value = static_cast<std::int64_t>(test.random(0, 15) == 0 ? 0 : test.random(1, largest));
  }
}

Dense poison(const Dense& like) {
  constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();
  Dense all = like;
  for (Wide& x : all.elements) x = {kNan, kNan};
  return all;
}

}  // namespace ob::test
