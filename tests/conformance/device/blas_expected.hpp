#pragma once
// Correct results and the sizes of their terms. The oracles of BLAS levels 2 and 3 share them.

#include "conformance/device/algebra.hpp"
#include "conformance/device/oracle.hpp"

namespace ob::test {

/// Tolerance: |C - Cref|_ij <= 4 (k + 2) eps (|alpha| |A| |B| + |beta| |C|)_ij. This is the
/// componentwise bound of a sum of k products in any order (Higham, Accuracy and Stability of
/// Numerical Algorithms, 2nd edition, 3.5), enlarged for complex arithmetic. Triangular solves have
/// the same bound for the residual (8.2 there).
/// of the residual (8.2 there).
inline constexpr Real kBlasTolerance = 4;

struct Expected {
  Dense error;  ///< computed minus correct, or a residual
  Dense bound;  ///< without eps and the constant factor
};

Wide wide(Complex x);
Wide scalar_of(const RoutineInput& in, std::string_view name);
bool is_zero(Complex x);
/// Returns the factor k + 2 in the bound of a sum of k products.
Real terms(std::uint64_t k);

/// Compares `result` with alpha X Y + beta C. C is not read if beta = 0, and X and Y are not read
/// if alpha = 0.
Expected product(const RoutineInput& in, const Dense& result, const Dense& x, const Dense& y,
                 const Dense& c);

/// Compares `x` with op(A)^-1 alpha B or, from the right, with alpha B op(A)^-1.
Expected residual(const Dense& a, bool left, const Dense& x, const Dense& scaled_b);

void expect(RoutineTest& test, const Descriptor& routine, const Expected& expected,
            Triangle triangle = Triangle::full);

/// Sets alpha and beta if the routine has them: 0, 1, -1 or (choice 3) random.
void set_scalars(RoutineTest& test, const Descriptor& routine, RoutineInput& in,
                 std::uint64_t alpha, std::uint64_t beta);
/// Sets every dimension to 0 to `largest`; 0 is rare.
void set_sizes(RoutineTest& test, RoutineInput& in, std::uint64_t largest);

/// Returns a matrix of NaN, for operands that must not be read.
Dense poison(const Dense& like);

}  // namespace ob::test
