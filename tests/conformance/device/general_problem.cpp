#include "conformance/device/general_problem.hpp"

#include <algorithm>
#include <cmath>

namespace ob::test {
namespace {

// D, its eigenvalues and its eigenvectors, real or complex like the precision.
struct Form {
  Dense d;
  Wides values;
  Dense vectors;
};

Wide random_value(RoutineTest& test, int spectrum, std::uint64_t i, bool complex) {
  const Real size = random_spectrum(test, i + 1, spectrum)[i];
  return complex ? std::polar<Real>(size, test.uniform(-3, 3)) : Wide(size);
}

Form random_form(RoutineTest& test, Precision precision, std::uint64_t n, int spectrum) {
  Form made{Dense(n, n), Wides(n), identity(n)};
  for (std::uint64_t i = 0; i < n; ++i) {
    const bool pair = !is_complex(precision) && i + 1 < n && test.random(0, 1) == 0;
    const Wide value = random_value(test, spectrum, i, is_complex(precision) || pair);
    made.d(i, i) = made.values[i] = value;
    if (!pair) continue;
    made.d(i, i) = made.d(i + 1, i + 1) = value.real();
    made.d(i, i + 1) = value.imag();
    made.d(i + 1, i) = -value.imag();
    made.values[i + 1] = std::conj(value);
    // The eigenvectors of the block are (1, i) and (1, -i).
    made.vectors(i, i + 1) = 1;
    made.vectors(i + 1, i) = Wide(0, 1);
    made.vectors(i + 1, i + 1) = Wide(0, -1);
    ++i;
  }
  return made;
}

}  // namespace

GeneralProblem random_general(RoutineTest& test, Precision precision, std::uint64_t n,
                              int spectrum) {
  const Form form = random_form(test, precision, n, spectrum);
  const Dense x = random_unitary(test, precision, n) * random_triangle(test, 'U', precision, n);
  return {rounded(precision, x * form.d * inverse(x)), form.values, normalized(x * form.vectors)};
}

Wides eigenvalues_of(const RoutineOutput& out) {
  if (out.matrices.count("w") != 0) return out.matrix("w").elements;
  const Reals re = out.reals("wr");
  const Reals im = out.reals("wi");
  Wides values(re.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = {re[i], im[i]};
  return values;
}

Dense complex_vectors(const Dense& stored, const Wides& values, Precision precision) {
  Dense vectors = stored;
  for (std::uint64_t j = 0; !is_complex(precision) && j + 1 < vectors.cols; ++j) {
    if (values[j].imag() == 0) continue;
    for (std::uint64_t i = 0; i < vectors.rows; ++i) {
      vectors(i, j) = {stored(i, j).real(), stored(i, j + 1).real()};
      vectors(i, j + 1) = std::conj(vectors(i, j));
    }
    ++j;
  }
  return vectors;
}

void require_pairs(RoutineTest& test, const Wides& values, Precision precision) {
  for (std::size_t j = 0; !is_complex(precision) && j < values.size(); ++j) {
    if (values[j].imag() == 0) continue;
    test.require(values[j].imag() > 0, "a pair's second value comes first");
    test.require(j + 1 < values.size() && values[j + 1] == std::conj(values[j]),
                 "a complex eigenvalue has no partner");
    ++j;
  }
}

void expect_near(RoutineTest& test, const Wides& got, const Wides& right, Real limit) {
  const auto distance = [](Wide from, const Wides& to) {
    Real least = std::abs(from - to[0]);
    for (const Wide x : to) least = std::min(least, std::abs(from - x));
    return least;
  };
  for (const Wide x : got) test.at_most(distance(x, right), limit, "error of an eigenvalue");
  for (const Wide x : right) test.at_most(distance(x, got), limit, "distance of a right value");
}

Dense normalized(Dense vectors) {
  for (std::uint64_t j = 0; j < vectors.cols; ++j) {
    const Real length = norm_frobenius(columns(vectors, j, 1));
    for (std::uint64_t i = 0; i < vectors.rows; ++i) vectors(i, j) /= length;
  }
  return vectors;
}

Real condition(const Dense& a) { return norm_one(a) * norm_one(inverse(a)); }

void expect_schur_form(RoutineTest& test, const Dense& t, const Wides& values,
                       Precision precision) {
  const Real limit = 8 * epsilon(precision) * norm_max(t);
  for (std::uint64_t j = 0; j < t.cols; ++j) {
    const bool pair = !is_complex(precision) && values[j].imag() > 0;
    for (std::uint64_t i = j + 1; i < t.rows; ++i) {
      test.require((pair && i == j + 1) || t(i, j) == Wide(0), "T is not (quasi) triangular");
    }
    if (!is_complex(precision) && values[j].imag() != 0) {
      test.at_most(std::abs(t(j, j) - values[j].real()), limit, "diagonal of T from Re(w)");
    } else {
      test.at_most(std::abs(t(j, j) - values[j]), limit, "diagonal of T from w");
    }
    if (!pair) continue;
    const Wide product = t(j, j + 1) * t(j + 1, j);
    test.require(t(j, j) == t(j + 1, j + 1) && product.real() < 0, "a block of T is no pair's");
    test.at_most(std::abs(std::sqrt(-product.real()) - values[j].imag()), limit,
                 "block of T from Im(w)");
  }
}

}  // namespace ob::test
