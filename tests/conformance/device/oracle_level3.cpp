// BLAS level 3 in long double. If alpha = 0 the factors hold NaN: they must not be read.

#include "conformance/device/blas_expected.hpp"

namespace ob::test {
namespace {

using Check = Expected (*)(const RoutineInput& in, const Dense& result);

const Dense& a_of(const RoutineInput& in) { return in.matrices.at("a"); }
const Dense& b_of(const RoutineInput& in) { return in.matrices.at("b"); }
const Dense& c_of(const RoutineInput& in) { return in.matrices.at("c"); }

Expected check_gemm(const RoutineInput& in, const Dense& result) {
  return product(in, result, op(in.flag("transa"), a_of(in)), op(in.flag("transb"), b_of(in)),
                 c_of(in));
}

// gemm3m takes three real products of sums of parts: up to four times the terms (Higham, 23.2.4).
Expected check_gemm3m(const RoutineInput& in, const Dense& result) {
  Expected expected = check_gemm(in, result);
  expected.bound = Wide(4) * expected.bound;
  return expected;
}

Expected check_side(const RoutineInput& in, const Dense& result, const Dense& a) {
  return in.flag("side") == 'L' ? product(in, result, a, b_of(in), c_of(in))
                                : product(in, result, b_of(in), a, c_of(in));
}

Expected check_symm(const RoutineInput& in, const Dense& result) {
  return check_side(in, result, symmetric(in.flag("uplo"), a_of(in)));
}

Expected check_hemm(const RoutineInput& in, const Dense& result) {
  return check_side(in, result, hermitian(in.flag("uplo"), a_of(in)));
}

Expected check_syrk(const RoutineInput& in, const Dense& result) {
  const Dense a = op(in.flag("trans") == 'N' ? 'N' : 'T', a_of(in));
  return product(in, result, a, op('T', a), c_of(in));
}

// Takes the imaginary parts of C's diagonal as zero, unless the call does nothing.
Dense hermitian_c(const RoutineInput& in) {
  const bool nothing = is_zero(in.scalars.at("alpha")) || in.dim("k") == 0;
  Dense c = c_of(in);
  for (std::uint64_t i = 0; i < c.rows && !(nothing && in.scalars.at("beta").re == 1); ++i) {
    c(i, i) = c(i, i).real();
  }
  return c;
}

Expected check_herk(const RoutineInput& in, const Dense& result) {
  const Dense a = op(in.flag("trans"), a_of(in));
  return product(in, result, a, op('C', a), hermitian_c(in));
}

// alpha A op(B) + conj(alpha) B op(A) as one product: [alpha A, conj(alpha) B] op([B, A]).
Expected check_rank_2k(const RoutineInput& in, const Dense& result, char other, const Dense& c) {
  const char trans = in.flag("trans") == 'N' ? 'N' : other;
  const Dense a = op(trans, a_of(in));
  const Dense b = op(trans, b_of(in));
  const Wide alpha = scalar_of(in, "alpha");
  Dense left = alpha * a;
  Dense right = b;
  const Dense second = (other == 'C' ? std::conj(alpha) : alpha) * b;
  left.elements.insert(left.elements.end(), second.elements.begin(), second.elements.end());
  right.elements.insert(right.elements.end(), a.elements.begin(), a.elements.end());
  left.cols = right.cols = 2 * a.cols;
  RoutineInput with_one = in;
  if (alpha != Wide(0)) with_one.scalars["alpha"] = {1, 0};
  return product(with_one, result, left, op(other, right), c);
}

Expected check_syr2k(const RoutineInput& in, const Dense& result) {
  return check_rank_2k(in, result, 'T', c_of(in));
}

Expected check_her2k(const RoutineInput& in, const Dense& result) {
  return check_rank_2k(in, result, 'C', hermitian_c(in));
}

Dense triangle_in(const RoutineInput& in) {
  return op(in.flag("transa"), triangular(in.flag("uplo"), in.flag("diag"), a_of(in)));
}

Expected check_trmm(const RoutineInput& in, const Dense& result) {
  if (is_zero(in.scalars.at("alpha"))) return {result, Dense(result.rows, result.cols)};
  const Dense a = triangle_in(in);
  const bool left = in.flag("side") == 'L';
  const Wide alpha = scalar_of(in, "alpha");
  const Dense right = alpha * (left ? a * b_of(in) : b_of(in) * a);
  const Dense size = left ? abs(a) * abs(b_of(in)) : abs(b_of(in)) * abs(a);
  return {result - right, Wide(terms(a.rows) * std::abs(alpha)) * size};
}

Expected check_trsm(const RoutineInput& in, const Dense& result) {
  if (is_zero(in.scalars.at("alpha"))) return {result, Dense(result.rows, result.cols)};
  return residual(triangle_in(in), in.flag("side") == 'L', result,
                  scalar_of(in, "alpha") * b_of(in));
}

bool has_triangle_of_c(const Descriptor& routine) {
  return routine.base.substr(0, 3) == "syr" || routine.base.substr(0, 3) == "her" ||
         routine.base.substr(0, 5) == "gemmt";
}

// Fills all operands with random matrices; flags, dimensions and scalars must be set.
void fill(RoutineTest& test, const Descriptor& routine, RoutineInput& in) {
  Argument arguments[kMaxArguments];
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    const std::string name(routine.argument_names[i]);
    if (routine.kinds[i] == Kind::flag) arguments[i].flag = in.flags.at(name);
    if (routine.kinds[i] == Kind::dim) arguments[i].dim = in.dims.at(name);
    if (routine.kinds[i] == Kind::scalar || routine.kinds[i] == Kind::real_scalar) {
      arguments[i].scalar = in.scalars.at(name);
    }
  }
  const bool triangular = routine.base.substr(0, 2) == "tr";
  const Operands operands = routine.operands(arguments);
  for (const Operand& operand : operands.span()) {
    const std::string name(routine.argument_names[operand.argument]);
    Dense& made = in.matrices[name] =
        triangular && name == "a"
            ? random_triangle(test, in.flag("uplo"), routine.precision, operand.rows)
            : test.random_matrix(routine.precision, operand.rows, operand.cols);
    const bool unread = name != "c" && is_zero(in.scalars.at("alpha"));
    if (unread) made = poison(made);
  }
}

template <Check compare>
void check(RoutineTest& test, const Descriptor& routine) {
  const char* const result = routine.base.substr(0, 2) == "tr" ? "b" : "c";
  for (RoutineInput in : test.flag_combinations(routine)) {
    for (std::uint64_t choice = 0; choice < 18; ++choice) {
      set_sizes(test, in, choice < 16 ? 7 : 40);
      set_scalars(test, routine, in, choice < 16 ? choice % 4 : 3, choice < 16 ? choice / 4 : 3);
      fill(test, routine, in);
      const RoutineOutput out = test.call(routine, in);
      expect(test, routine, compare(in, out.matrix(result)),
             has_triangle_of_c(routine) ? triangle_of(in.flag("uplo")) : Triangle::full);
    }
  }
}

constexpr Oracle kOracles[] = {
    {"gemm", check<check_gemm>},   {"gemm3m", check<check_gemm3m>}, {"gemmt", check<check_gemm>},
    {"gemmtr", check<check_gemm>}, {"symm", check<check_symm>},     {"hemm", check<check_hemm>},
    {"syrk", check<check_syrk>},   {"herk", check<check_herk>},     {"syr2k", check<check_syr2k>},
    {"her2k", check<check_her2k>}, {"trmm", check<check_trmm>},     {"trsm", check<check_trsm>},
};

}  // namespace

Oracles level3_oracles() { return kOracles; }

}  // namespace ob::test
