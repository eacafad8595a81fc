#pragma once
// The linear algebra that the oracles of LAPACK need, in long double and with the simplest methods.

#include <vector>

#include "conformance/device/dense.hpp"
#include "conformance/device/routine_run.hpp"

namespace ob::test {

using Reals = std::vector<Real>;
using Integers = std::vector<std::int64_t>;

/// Returns half of epsilon(): the `eps` in the bounds of the LAPACK Users' Guide and in the ratios
/// of LAPACK's testers.
Real unit_roundoff(Precision precision);

/// Returns the largest column sum; infinity if there is a NaN.
Real norm_one(const Dense& a);
/// Returns the largest row sum.
Real norm_infinity(const Dense& a);
Real norm_max(const Dense& a);
Real norm_frobenius(const Dense& a);

/// Returns error / (scale * unit_roundoff); 0 / 0 gives 0, and a NaN gives infinity.
Real ratio(Real error, Real scale, Precision precision);
/// Returns the same ratio for the norms of matrices.
Real ratio(const Dense& error, Real scale, Precision precision);
/// Returns
/// I - Q^H Q
/// / (n * unit_roundoff): the ratio of DORT01 (LAPACK Working Note 41).
Real unitarity(const Dense& q, Precision precision);

Dense block(const Dense& a, std::uint64_t row, std::uint64_t col, std::uint64_t rows,
            std::uint64_t cols);
Dense columns(const Dense& a, std::uint64_t first, std::uint64_t count);
/// Returns a rows x cols matrix with these numbers on its diagonal.
Dense diagonal(const Reals& values, std::uint64_t rows, std::uint64_t cols);
Dense diagonal(const Reals& values);
Dense column(const Reals& values);
/// Returns the triangle's elements, with zeros elsewhere.
Dense part(Triangle triangle, const Dense& a);
Triangle triangle_of(char uplo);

/// Returns A^-1 B, computed by elimination with row exchanges.   @pre A is regular
Dense solve(Dense a, Dense b);
Dense inverse(const Dense& a);

/// C := (I - tau v v^H) C; v is a column.
void reflect(Dense& c, const Dense& v, Wide tau);
/// Returns H_1 H_2 ... H_k with H_i = I - tau_i v_i v_i^H, where v_i is the i-th column.
Dense product_of_reflectors(const Dense& vectors, const Dense& tau);
/// Returns the vectors of geqrf below its diagonal, with ones on the diagonal and zeros above it.
Dense unit_lower(const Dense& a, std::uint64_t count);

/// Returns true if the indices are 1 to n in any order.
bool is_permutation(const Integers& indices);

void swap_rows(Dense& a, std::uint64_t i, std::uint64_t k);
void swap_columns(Dense& a, std::uint64_t i, std::uint64_t k);

/// Returns a random unitary matrix; it is orthogonal in real precisions.
Dense random_unitary(RoutineTest& test, Precision precision, std::uint64_t n);
/// Reflectors in the form of geqrf: below the diagonal of m x k elements and in k tau.
struct Reflectors {
  Dense a;
  Dense tau;
};
Reflectors random_reflectors(RoutineTest& test, Precision precision, std::uint64_t m,
                             std::uint64_t k);
/// Returns a Hermitian matrix with these eigenvalues, up to the rounding of its elements.
Dense random_hermitian(RoutineTest& test, Precision precision, const Reals& values);
/// Returns such a matrix with eigenvalues from 1/2 to 4.
Dense random_positive(RoutineTest& test, Precision precision, std::uint64_t n);
/// Kinds of eigenvalues: 0 random, 1 one value many times, 2 graded, 3 all zero.
inline constexpr int kSpectra = 4;
Reals random_spectrum(RoutineTest& test, std::uint64_t n, int kind);
/// Returns a triangle with a diagonal far from zero: solutions stay of moderate size.
Dense random_triangle(RoutineTest& test, char uplo, Precision precision, std::uint64_t n);

}  // namespace ob::test
