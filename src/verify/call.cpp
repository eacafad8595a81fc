// The equations that hold after each routine.

#include <array>
#include <string_view>

#include "verify/equation.hpp"
#include "verify/freivalds.hpp"
#include "verify/verification.hpp"

namespace ob::verify {
namespace {

using Mirror = Matrix::Mirror;

constexpr std::array kVerifiable = {
    std::string_view("gemm"),   std::string_view("gemm3m"), std::string_view("gemmt"),
    std::string_view("gemmtr"), std::string_view("symm"),   std::string_view("hemm"),
    std::string_view("syrk"),   std::string_view("herk"),   std::string_view("syr2k"),
    std::string_view("her2k"),  std::string_view("trmm"),   std::string_view("trsm"),
    std::string_view("trtrs"),  std::string_view("getrf"),  std::string_view("getrs"),
    std::string_view("gesv"),   std::string_view("potrf"),  std::string_view("potrs"),
    std::string_view("posv"),   std::string_view("trtri")};

/// The arguments of a call by name.
class Subject {
 public:
  Subject(const Descriptor& routine, const Argument* arguments, std::span<const SavedOperand> saved)
      : routine_(routine),
        arguments_(arguments),
        saved_(saved),
        operands_(routine.operands(arguments)) {}

  std::string_view base() const { return routine_.base; }
  bool is(std::string_view base) const { return routine_.base == base; }
  Precision precision() const { return routine_.precision; }
  bool is_complex() const {
    return routine_.precision == Precision::c || routine_.precision == Precision::z;
  }
  char flag(std::string_view name) const { return arguments_[position(name)].flag; }
  std::uint64_t dim(std::string_view name) const {
    return static_cast<std::uint64_t>(arguments_[position(name)].dim);
  }
  Complex scalar(std::string_view name) const { return arguments_[position(name)].scalar; }

  const Operand& operand(std::string_view name) const {
    const std::size_t at = position(name);
    for (const Operand& operand : operands_.span()) {
      if (operand.argument == at) return operand;
    }
    return operands_.items[0];
  }

  /// The matrix after the call.
  Matrix matrix(std::string_view name, Mirror mirror = Mirror::none) const {
    const Operand& o = operand(name);
    const HostOperand& host = arguments_[o.argument].host;
    return {host.data, o.rows, o.cols, static_cast<std::uint64_t>(host.ld), o.triangle, mirror};
  }
  /// The matrix before the call.
  Matrix original(std::string_view name, Mirror mirror = Mirror::none) const {
    Matrix m = matrix(name, mirror);
    for (const SavedOperand& saved : saved_) {
      if (saved.argument != position(name)) continue;
      m.data = saved.data;
      m.ld = m.rows;
    }
    return m;
  }
  std::span<const std::int64_t> pivots() const {
    const Operand& o = operand("ipiv");
    return {static_cast<const std::int64_t*>(arguments_[o.argument].host.data), o.rows};
  }
  /// The info of the call; 0 for a routine without info.
  std::int64_t info() const {
    for (std::size_t i = 0; i < routine_.kinds.size(); ++i) {
      if (routine_.kinds[i] == Kind::info)
        return *static_cast<const std::int64_t*>(arguments_[i].host.data);
    }
    return 0;
  }

 private:
  std::size_t position(std::string_view name) const {
    std::size_t i = 0;
    while (i + 1 < routine_.argument_names.size() && routine_.argument_names[i] != name) ++i;
    return i;
  }

  const Descriptor& routine_;
  const Argument* arguments_;
  std::span<const SavedOperand> saved_;
  Operands operands_;
};

Complex minus(const Complex& v) { return {-v.re, -v.im}; }

Factor factor(const Matrix& matrix, char op = 'N') {
  Factor f;
  f.first = matrix;
  f.op = op;
  return f;
}

Factor exchanges(std::span<const std::int64_t> pivots, char op = 'N') {
  Factor f;
  f.kind = Factor::Kind::exchanges;
  f.pivots = pivots.data();
  f.pivot_count = pivots.size();
  f.op = op;
  return f;
}

Term term(Complex scale, std::vector<Factor> factors) { return {scale, std::move(factors), false}; }
Term result(std::vector<Factor> factors) { return {{1, 0}, std::move(factors), true}; }

Equation equation(const Subject& s, const Matrix& shape, std::uint64_t roundings) {
  Equation e;
  e.precision = s.precision();
  e.rows = shape.rows;
  e.cols = shape.cols;
  e.roundings = roundings;
  return e;
}

char op_of(const Subject& s, std::string_view flag) {
  const char op = s.flag(flag);
  return op == 'C' && !s.is_complex() ? 'T' : op;
}

bool is_left(const Subject& s) { return s.flag("side") == 'L'; }

// The equation C - (alpha ... + beta C0) without the products.
Equation update(const Subject& s, Mirror mirror, std::uint64_t roundings) {
  Equation e = equation(s, s.matrix("c"), roundings);
  e.terms.push_back(result({factor(s.matrix("c", mirror))}));
  if (s.operand("c").read)
    e.terms.push_back(term(minus(s.scalar("beta")), {factor(s.original("c", mirror))}));
  return e;
}

Equation product_of(const Subject& s) {
  Equation e = update(s, Mirror::none, s.dim("k"));
  e.terms.push_back(term(minus(s.scalar("alpha")), {factor(s.matrix("a"), op_of(s, "transa")),
                                                    factor(s.matrix("b"), op_of(s, "transb"))}));
  return e;
}

Equation triangle_of_product(const Subject& s) {
  Equation e = update(s, Mirror::none, s.dim("k"));
  Factor f = factor(s.matrix("a"), op_of(s, "transa"));
  f.kind = Factor::Kind::triangle_of_product;
  f.second = s.matrix("b");
  f.second_op = op_of(s, "transb");
  f.triangle = s.operand("c").triangle;
  e.terms.push_back(term(minus(s.scalar("alpha")), {f}));
  return e;
}

Equation product_with_mirrored(const Subject& s) {
  const Factor a = factor(s.matrix("a", s.is("hemm") ? Mirror::hermitian : Mirror::symmetric));
  const Factor b = factor(s.matrix("b"));
  Equation e = update(s, Mirror::none, a.first.rows);
  e.terms.push_back(is_left(s) ? term(minus(s.scalar("alpha")), {a, b})
                               : term(minus(s.scalar("alpha")), {b, a}));
  return e;
}

// The equation for C := alpha op(A) op(A)^T + beta C0, or with B for the sum of two products.
Equation rank_update(const Subject& s) {
  const bool hermitian = s.is("herk") || s.is("her2k");
  const bool two = s.is("syr2k") || s.is("her2k");
  const char back = hermitian ? 'C' : 'T';
  const bool plain = s.flag("trans") == 'N';
  const char first = plain ? 'N' : back;
  const char second = plain ? back : 'N';
  Equation e =
      update(s, hermitian ? Mirror::hermitian : Mirror::symmetric, s.dim("k") * (two ? 2 : 1));
  const Matrix a = s.matrix("a");
  const Complex alpha = s.scalar("alpha");
  const Matrix b = two ? s.matrix("b") : a;
  e.terms.push_back(term(minus(alpha), {factor(a, first), factor(b, second)}));
  if (two) {
    const Complex other = hermitian ? Complex{alpha.re, -alpha.im} : alpha;
    e.terms.push_back(term(minus(other), {factor(b, first), factor(a, second)}));
  }
  return e;
}

Equation triangular_product(const Subject& s) {
  const Factor a = factor(s.matrix("a"), op_of(s, "transa"));
  const Factor b = factor(s.original("b"));
  Equation e = equation(s, b.first, a.first.rows);
  e.terms.push_back(result({factor(s.matrix("b"))}));
  e.terms.push_back(is_left(s) ? term(minus(s.scalar("alpha")), {a, b})
                               : term(minus(s.scalar("alpha")), {b, a}));
  return e;
}

// The equation op(A) X - alpha B.
Equation triangular_solution(const Subject& s) {
  const bool lapack = s.is("trtrs");
  const Factor a = factor(s.matrix("a"), op_of(s, lapack ? "trans" : "transa"));
  const Factor x = factor(s.matrix("b"));
  Equation e = equation(s, x.first, a.first.rows);
  e.terms.push_back(lapack || is_left(s) ? term({1, 0}, {a, x}) : term({1, 0}, {x, a}));
  e.terms.push_back(
      term(lapack ? Complex{-1, 0} : minus(s.scalar("alpha")), {factor(s.original("b"))}));
  return e;
}

// The factors P, L and U in the form that getrf returns.
std::vector<Factor> lu_factors(const Subject& s) {
  const Matrix a = s.matrix("a");
  const std::uint64_t least = a.rows < a.cols ? a.rows : a.cols;
  Matrix l = a;
  l.cols = least;
  l.triangle = Triangle::lower_strict;
  Matrix u = a;
  u.rows = least;
  u.triangle = Triangle::upper;
  return {exchanges(s.pivots()), factor(l), factor(u)};
}

std::vector<Factor> cholesky_factors(const Subject& s) {
  const Matrix a = s.matrix("a");
  const char back = s.is_complex() ? 'C' : 'T';
  if (a.triangle == Triangle::upper) return {factor(a, back), factor(a)};
  return {factor(a), factor(a, back)};
}

// The equation: (product of the factors) - A.
Equation factorisation(const Subject& s, std::vector<Factor> factors, Mirror mirror) {
  const Matrix a = s.original("a", mirror);
  Equation e = equation(s, a, a.rows < a.cols ? a.rows : a.cols);
  e.terms.push_back(result(std::move(factors)));
  e.terms.push_back(term({-1, 0}, {factor(a)}));
  return e;
}

// The equation: (product of the factors) X - B.
Equation solution(const Subject& s, std::vector<Factor> factors) {
  const Factor x = factor(s.matrix("b"));
  Equation e = equation(s, x.first, 3 * x.first.rows);
  factors.push_back(x);
  e.terms.push_back(term({1, 0}, std::move(factors)));
  e.terms.push_back(term({-1, 0}, {factor(s.original("b"))}));
  return e;
}

// The equation X A - I, or A X - I. The order of the algorithm's loops decides which of the two
// residuals is small (Higham, section 14.2).
Equation inverse(const Subject& s, bool left) {
  const Factor x = factor(s.matrix("a"));
  const Factor a = factor(s.original("a"));
  Equation e = equation(s, a.first, a.first.rows);
  e.terms.push_back(left ? term({1, 0}, {x, a}) : term({1, 0}, {a, x}));
  e.terms.push_back(term({-1, 0}, {}));
  return e;
}

// True if each pivot of getrf is one of the remaining rows.
bool are_pivots(std::span<const std::int64_t> pivots, std::uint64_t rows) {
  for (std::size_t i = 0; i < pivots.size(); ++i) {
    if (pivots[i] < static_cast<std::int64_t>(i + 1) || pivots[i] > static_cast<std::int64_t>(rows))
      return false;
  }
  return true;
}

// Checks both equations and returns the worse verdict.
Verification both(const Equation& first, const Equation& second, std::uint64_t seed) {
  const Verification one = verify_equation(first, seed);
  if (one.verdict == Verdict::wrong) return one;
  const Verification other = verify_equation(second, seed + 1);
  return other.verdict == Verdict::wrong || one.verdict == Verdict::right ? other : one;
}

Verification verify_lu(const Subject& s, std::uint64_t seed) {
  std::vector<Factor> factors = lu_factors(s);
  if (s.is("getrs")) {
    const char op = op_of(s, "trans");
    if (op == 'N') return verify_equation(solution(s, std::move(factors)), seed);
    std::vector<Factor> reversed;
    for (std::size_t i = factors.size(); i-- > 0;) {
      factors[i].op = op;
      reversed.push_back(factors[i]);
    }
    return verify_equation(solution(s, std::move(reversed)), seed);
  }
  // With an exact zero on the diagonal of U, the factors are valid, but there is no solution.
  if (s.info() < 0 || (s.info() > 0 && !s.is("getrf"))) return {};
  if (!are_pivots(s.pivots(), s.matrix("a").rows)) return {Verdict::wrong, 1, 0};
  const Equation factored = factorisation(s, factors, Mirror::none);
  if (s.is("getrf")) return verify_equation(factored, seed);
  return both(factored, solution(s, std::move(factors)), seed);
}

Verification verify_cholesky(const Subject& s, std::uint64_t seed) {
  if (s.info() != 0) return {};
  const std::vector<Factor> factors = cholesky_factors(s);
  if (s.is("potrs")) return verify_equation(solution(s, factors), seed);
  const Mirror mirror = s.is_complex() ? Mirror::hermitian : Mirror::symmetric;
  const Equation factored = factorisation(s, factors, mirror);
  if (s.is("potrf")) return verify_equation(factored, seed);
  return both(factored, solution(s, factors), seed);
}

Verification verify_inverse(const Subject& s, std::uint64_t seed) {
  if (s.info() != 0) return {};
  const Verification left = verify_equation(inverse(s, true), seed);
  return left.verdict == Verdict::wrong ? verify_equation(inverse(s, false), seed) : left;
}

Equation blas_equation(const Subject& s) {
  if (s.is("gemm") || s.is("gemm3m")) return product_of(s);
  if (s.is("gemmt") || s.is("gemmtr")) return triangle_of_product(s);
  if (s.is("symm") || s.is("hemm")) return product_with_mirrored(s);
  if (s.is("trmm")) return triangular_product(s);
  if (s.is("trsm")) return triangular_solution(s);
  return rank_update(s);
}

}  // namespace

bool is_verifiable(const Descriptor& routine) noexcept {
  for (const std::string_view base : kVerifiable) {
    if (routine.base == base) return true;
  }
  return false;
}

Verification verify_call(const Descriptor& routine, const Argument* arguments,
                         std::span<const SavedOperand> saved, std::uint64_t seed) {
  if (!is_verifiable(routine)) return {};
  const Subject s(routine, arguments, saved);
  const std::string_view base = s.base();
  if (base.starts_with("ge") && !base.starts_with("gemm")) return verify_lu(s, seed);
  if (base.starts_with("po")) return verify_cholesky(s, seed);
  if (base == "trtri") return verify_inverse(s, seed);
  if (base == "trtrs") {
    return s.info() == 0 ? verify_equation(triangular_solution(s), seed) : Verification();
  }
  return verify_equation(blas_equation(s), seed);
}

}  // namespace ob::verify
