#include "workload.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "fft_workload.hpp"
#include "matrix.hpp"

namespace workload {
namespace {

// Products of up to this many multiplications are checked element by element.
constexpr double kNaiveProducts = 1.6e7;
// Rounding errors of one inner product stay below k*eps*sum|a||b| (Higham, Accuracy and Stability
// of Numerical Algorithms, 3.1); 8 covers complex arithmetic, the factor 3 of solves (theorem 9.4)
// and the oracle's own errors.
constexpr double kSlack = 8;

int pick(Rng& rng, int least, int most) {
  return least + static_cast<int>(rng() % static_cast<std::uint64_t>(most - least + 1));
}
/// Returns a dimension up to `size`, mostly in its upper half, sometimes 1.
int dimension(Rng& rng, int size) {
  return rng() % 8 == 0 ? pick(rng, 1, size) : pick(rng, std::max(1, size / 2), size);
}
/// Returns one of the letters, in upper or lower case: routines ignore the case.
char flag(Rng& rng, const std::string& letters) {
  const char letter = letters[rng() % letters.size()];
  return rng() % 4 == 0 ? static_cast<char>(letter - 'A' + 'a') : letter;
}
char upper(char c) { return c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c; }
bool large(double m, double n, double k) { return m * n * k > kNaiveProducts; }

template <class T>
T scalar(Rng& rng) {
  return rng() % 3 == 0 ? T(1) : random_value<T>(rng);
}

/// Returns a random vector, or the identity if the sizes allow a check of every element.
template <class T>
Dense<Wide<T>> probe(int n, bool random, Rng& rng) {
  Dense<Wide<T>> x(n, random ? 1 : n);
  for (int i = 0; i < n; ++i) x(i, random ? 0 : i) = random ? random_value<Wide<T>>(rng) : 1.0;
  return x;
}

template <class W>
void add(Dense<W>& sum, W factor, const Dense<W>& b) {
  for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += factor * b.values[i];
}
template <class W>
void scale(Dense<W>& a, W factor) {
  for (W& value : a.values) value *= factor;
}

/// Checks |got - want| <= slack * n * eps * bound for every allowed element.
template <class T>
std::string compare(const Dense<Wide<T>>& got, const Dense<Wide<T>>& want,
                    const Dense<double>& bound, int n, const Allowed& allowed = everywhere) {
  for (int j = 0; j < got.cols; ++j)
    for (int i = 0; i < got.rows; ++i) {
      if (!allowed(i, j)) continue;
      const double error = std::abs(got(i, j) - want(i, j));
      const double limit = kSlack * (n + 2) * kEps<T> * (bound(i, j) + std::abs(want(i, j)));
      if (!(error <= limit))
        return "wrong by " + number(error) + " (limit " + number(limit) + ") at row " +
               std::to_string(i) + ", column " + std::to_string(j);
    }
  return "";
}

std::string first(std::initializer_list<std::string> problems) {
  for (const std::string& problem : problems)
    if (!problem.empty()) return problem;
  return "";
}

/// Checks result = alpha * a * b + beta * c0 in the allowed part; `a` and `b` are full matrices.
template <class T>
std::string check_product(const Matrix<T>& result, Wide<T> alpha, const Dense<Wide<T>>& a,
                          const Dense<Wide<T>>& b, Wide<T> beta, const Dense<Wide<T>>& c0, Rng& rng,
                          const Allowed& allowed = everywhere) {
  const bool by_vector = large(a.rows, b.cols, a.cols);
  const auto x = probe<T>(b.cols, by_vector, rng);
  auto want = by_vector ? product(a, product(b, x)) : product(a, b);
  scale(want, alpha);
  const auto start = by_vector ? product(c0, x) : c0;
  if (beta != Wide<T>(0)) add(want, beta, start);
  auto bound = by_vector ? product(magnitude(a), product(magnitude(b), magnitude(x)))
                         : product(magnitude(a), magnitude(b));
  scale(bound, std::abs(alpha));
  add(bound, std::abs(beta), by_vector ? product(magnitude(c0), magnitude(x)) : magnitude(c0));
  const auto got = result.dense(allowed);
  return compare<T>(by_vector ? product(got, x) : got, want, bound, a.cols, allowed);
}

/// Checks a * x = alpha * b up to rounding, where x solves a system with the factors that have the
/// sizes in `bound_matrix`.
template <class T>
std::string check_solution(const Dense<Wide<T>>& a, const Dense<Wide<T>>& x, Wide<T> alpha,
                           const Dense<Wide<T>>& b, const Dense<double>& bound_matrix) {
  auto want = b;
  scale(want, alpha);
  return compare<T>(product(a, x), want, product(bound_matrix, magnitude(x)), 3 * a.cols);
}

/// Returns the full matrix of a `uplo` triangle, symmetric or Hermitian.
template <class T>
Dense<Wide<T>> mirrored(const Matrix<T>& a, char uplo, bool hermitian) {
  auto full = a.dense(triangle(uplo));
  const auto other = transposed(full, hermitian ? 'C' : 'T');
  for (int j = 0; j < full.cols; ++j)
    for (int i = 0; i < full.rows; ++i) {
      if (i != j && full(i, j) == Wide<T>(0)) full(i, j) = other(i, j);
      if (i == j && hermitian)
        full(i, j) = std::real(full(i, j));  // its imaginary part counts as 0
    }
  return full;
}

/// Returns the triangular matrix that uplo and diag describe.
template <class T>
Dense<Wide<T>> triangular(const Matrix<T>& a, char uplo, char diag) {
  const bool unit = upper(diag) == 'U';
  auto full = a.dense(triangle(uplo, unit));
  for (int i = 0; unit && i < full.rows; ++i) full(i, i) = 1.0;
  return full;
}

template <class T>
std::string gemm(int size, Rng& rng) {
  const int m = dimension(rng, size), n = dimension(rng, size), k = dimension(rng, size);
  const char ta = flag(rng, "NTC"), tb = flag(rng, "NTC");
  const bool plain_a = upper(ta) == 'N', plain_b = upper(tb) == 'N';
  Matrix<T> a(plain_a ? m : k, plain_a ? k : m, rng), b(plain_b ? k : n, plain_b ? n : k, rng),
      c(m, n, rng);
  const T alpha = scalar<T>(rng), beta = rng() % 2 == 0 ? T(0) : scalar<T>(rng);
  a.fill(rng);
  b.fill(rng);
  if (beta != T(0)) c.fill(rng);  // beta = 0: C is not read, its NaN must vanish
  const Matrix<T> a0 = a, b0 = b, c0 = c;
  blas::gemm(ta, tb, m, n, k, alpha, a.data(), a.ld, b.data(), b.ld, beta, c.data(), c.ld);
  const auto start = c0.dense(beta != T(0) ? everywhere : nowhere);
  return first({a.changes(a0, nowhere), b.changes(b0, nowhere), c.changes(c0, everywhere),
                check_product<T>(c, alpha, transposed(a0.dense(), ta), transposed(b0.dense(), tb),
                                 beta, start, rng)});
}

/// syrk, and herk with its real scalars.
template <class T, bool hermitian>
std::string rank_k(int size, Rng& rng) {
  using Scalar = std::conditional_t<hermitian, blas::Real<T>, T>;
  const int n = dimension(rng, size), k = dimension(rng, size);
  // 'T' with Hermitian and 'C' with complex symmetric are illegal.
  const char uplo = flag(rng, "UL"), t = flag(rng, hermitian ? "NC" : kComplex<T> ? "NT" : "NTC");
  Matrix<T> a(upper(t) == 'N' ? n : k, upper(t) == 'N' ? k : n, rng), c(n, n, rng);
  const Scalar alpha = scalar<Scalar>(rng), beta = rng() % 2 == 0 ? Scalar(0) : scalar<Scalar>(rng);
  a.fill(rng);
  if (beta != Scalar(0)) c.fill(rng, triangle(uplo));
  for (int i = 0; hermitian && beta != Scalar(0) && i < n; ++i) c(i, i) = T(std::real(c(i, i)));
  const Matrix<T> a0 = a, c0 = c;
  if constexpr (hermitian) {
    blas::herk(uplo, t, n, k, alpha, a.data(), a.ld, beta, c.data(), c.ld);
  } else {
    blas::syrk(uplo, t, n, k, alpha, a.data(), a.ld, beta, c.data(), c.ld);
  }
  const auto left = transposed(a0.dense(), t), right = transposed(left, hermitian ? 'C' : 'T');
  if (large(n, n, k)) return "too large for this check";
  return first({a.changes(a0, nowhere), c.changes(c0, triangle(uplo)),
                check_product<T>(c, Wide<T>(alpha), left, right, Wide<T>(beta),
                                 c0.dense(beta != Scalar(0) ? triangle(uplo) : nowhere), rng,
                                 triangle(uplo))});
}

/// symm, and hemm.
template <class T, bool hermitian>
std::string mirrored_product(int size, Rng& rng) {
  const int m = dimension(rng, size), n = dimension(rng, size);
  const char side = flag(rng, "LR"), uplo = flag(rng, "UL");
  const int order = upper(side) == 'L' ? m : n;
  Matrix<T> a(order, order, rng), b(m, n, rng), c(m, n, rng);
  const T alpha = scalar<T>(rng), beta = rng() % 2 == 0 ? T(0) : scalar<T>(rng);
  a.fill(rng, triangle(uplo));
  b.fill(rng);
  if (beta != T(0)) c.fill(rng);
  const Matrix<T> a0 = a, b0 = b, c0 = c;
  if constexpr (hermitian) {
    blas::hemm(side, uplo, m, n, alpha, a.data(), a.ld, b.data(), b.ld, beta, c.data(), c.ld);
  } else {
    blas::symm(side, uplo, m, n, alpha, a.data(), a.ld, b.data(), b.ld, beta, c.data(), c.ld);
  }
  const auto full = mirrored(a0, uplo, hermitian), other = b0.dense();
  const bool left = upper(side) == 'L';
  return first({a.changes(a0, nowhere), b.changes(b0, nowhere), c.changes(c0, everywhere),
                check_product<T>(c, alpha, left ? full : other, left ? other : full, beta,
                                 c0.dense(beta != T(0) ? everywhere : nowhere), rng)});
}

/// trmm, and trsm on a well-conditioned triangle.
template <class T, bool solve>
std::string triangular_call(int size, Rng& rng) {
  const int m = dimension(rng, size), n = dimension(rng, size);
  const char side = flag(rng, "LR"), uplo = flag(rng, "UL"), t = flag(rng, "NTC"),
             diag = flag(rng, "NU");
  const bool left = upper(side) == 'L';
  const int order = left ? m : n;
  Matrix<T> a(order, order, rng), b(m, n, rng);
  const Allowed read = triangle(uplo, upper(diag) == 'U');
  a.fill(rng, read);
  for (int j = 0; j < order; ++j)  // small off-diagonals keep solutions bounded
    for (int i = 0; i < order; ++i)
      if (read(i, j))
        a(i, j) = i == j ? a(i, j) + T(2) : a(i, j) / T(static_cast<blas::Real<T>>(order));
  b.fill(rng);
  const T alpha = scalar<T>(rng);
  const Matrix<T> a0 = a, b0 = b;
  if constexpr (solve) {
    blas::trsm(side, uplo, t, diag, m, n, alpha, a.data(), a.ld, b.data(), b.ld);
  } else {
    blas::trmm(side, uplo, t, diag, m, n, alpha, a.data(), a.ld, b.data(), b.ld);
  }
  const std::string problem = first({a.changes(a0, nowhere), b.changes(b0, everywhere)});
  if (!problem.empty()) return problem;
  const auto op = transposed(triangular(a0, uplo, diag), t);
  if (!solve) {
    const Dense<Wide<T>> none(m, n);
    return check_product<T>(b, alpha, left ? op : b0.dense(), left ? b0.dense() : op, 0.0, none,
                            rng);
  }
  if (left) return check_solution<T>(op, b.dense(), alpha, b0.dense(), magnitude(op));
  const auto turned = transposed(op, 'T');
  return check_solution<T>(turned, transposed(b.dense(), 'T'), alpha, transposed(b0.dense(), 'T'),
                           magnitude(turned));
}

struct Factors {
  int rows, cols;
  std::vector<int> permutation;  // row i of P A is row permutation[i] of A
};

/// Returns the row order of LAPACK's interchanges; empty permutation if one is out of range.
Factors interchanges(const std::vector<int>& ipiv, int rows, int cols) {
  Factors f{rows, cols, std::vector<int>(static_cast<std::size_t>(rows))};
  for (int i = 0; i < rows; ++i) f.permutation[static_cast<std::size_t>(i)] = i;
  for (int i = 0; i < std::min(rows, cols); ++i) {
    const int with = ipiv[static_cast<std::size_t>(i)] - 1;
    if (with < i || with >= rows) return {rows, cols, {}};
    std::swap(f.permutation[static_cast<std::size_t>(i)],
              f.permutation[static_cast<std::size_t>(with)]);
  }
  return f;
}

/// Checks P A = L U for the factors that getrf left in `lu`.
template <class T>
std::string check_lu(const Matrix<T>& lu, const std::vector<int>& ipiv, const Dense<Wide<T>>& a,
                     Rng& rng) {
  const int m = a.rows, n = a.cols, order = std::min(m, n);
  const Factors f = interchanges(ipiv, m, n);
  if (f.permutation.empty()) return "pivot out of range";
  if (ipiv[static_cast<std::size_t>(order)] != -77) return "wrote past the end of ipiv";
  Dense<Wide<T>> l(m, order), u(order, n), pa(m, n);
  for (int j = 0; j < order; ++j)
    for (int i = j; i < m; ++i) l(i, j) = i == j ? Wide<T>(1) : Wide<T>(lu(i, j));
  for (int j = 0; j < n; ++j)
    for (int i = 0; i <= std::min(j, order - 1); ++i) u(i, j) = Wide<T>(lu(i, j));
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) pa(i, j) = a(f.permutation[static_cast<std::size_t>(i)], j);
  const bool by_vector = large(m, n, order);
  const auto x = probe<T>(n, by_vector, rng);
  if (!by_vector) return compare<T>(product(l, u), pa, product(magnitude(l), magnitude(u)), order);
  return compare<T>(product(l, product(u, x)), product(pa, x),
                    product(magnitude(l), product(magnitude(u), magnitude(x))), order + n);
}

/// Returns a well-conditioned matrix that needs pivoting: random, with a dominant shifted diagonal.
template <class T>
void fill_solvable(Matrix<T>& a, Rng& rng) {
  a.fill(rng);
  const int order = std::min(a.rows, a.cols);
  for (int i = 0; i < order; ++i) a((i + 1) % a.rows, i) += T(static_cast<blas::Real<T>>(order));
}

template <class T>
std::string getrf(int size, Rng& rng) {
  const int m = dimension(rng, size), n = dimension(rng, size);
  Matrix<T> a(m, n, rng);
  a.fill(rng);
  const Matrix<T> a0 = a;
  std::vector<int> ipiv(static_cast<std::size_t>(std::min(m, n)) + 1, -77);
  const int info = blas::getrf(m, n, a.data(), a.ld, ipiv.data());
  if (info != 0) return "info = " + std::to_string(info);
  return first({a.changes(a0, everywhere), check_lu<T>(a, ipiv, a0.dense(), rng)});
}

template <class T>
std::string gesv(int size, Rng& rng) {
  const int n = dimension(rng, size), nrhs = pick(rng, 1, std::min(size, 12));
  Matrix<T> a(n, n, rng), b(n, nrhs, rng);
  fill_solvable(a, rng);
  b.fill(rng);
  const Matrix<T> a0 = a, b0 = b;
  std::vector<int> ipiv(static_cast<std::size_t>(n) + 1, -77);
  const int info = blas::gesv(n, nrhs, a.data(), a.ld, ipiv.data(), b.data(), b.ld);
  if (info != 0) return "info = " + std::to_string(info);
  // Pivoting keeps |L| <= 1 and U near A here, so |A| times n replaces |L
  // U| (Higham 9.3).
  auto bound = magnitude(a0.dense());
  scale(bound, 4.0);
  return first({a.changes(a0, everywhere), b.changes(b0, everywhere),
                check_lu<T>(a, ipiv, a0.dense(), rng),
                check_solution<T>(a0.dense(), b.dense(), 1.0, b0.dense(), bound)});
}

template <class T>
std::string getrs(int size, Rng& rng) {
  const int n = dimension(rng, size), nrhs = pick(rng, 1, std::min(size, 12));
  const char t = flag(rng, "NTC");
  Matrix<T> a(n, n, rng), b(n, nrhs, rng);
  fill_solvable(a, rng);
  b.fill(rng);
  const auto original = a.dense();
  std::vector<int> ipiv(static_cast<std::size_t>(n) + 1, -77);
  if (blas::getrf(n, n, a.data(), a.ld, ipiv.data()) != 0) return "getrf failed";
  const Matrix<T> a0 = a, b0 = b;
  const auto ipiv0 = ipiv;
  const int info = blas::getrs(t, n, nrhs, a.data(), a.ld, ipiv.data(), b.data(), b.ld);
  if (info != 0) return "info = " + std::to_string(info);
  if (ipiv != ipiv0) return "changed ipiv";
  const auto op = transposed(original, t);
  auto bound = magnitude(op);
  scale(bound, 4.0);
  return first({a.changes(a0, nowhere), b.changes(b0, everywhere),
                check_solution<T>(op, b.dense(), 1.0, b0.dense(), bound)});
}

/// Returns one triangle of a Hermitian (real: symmetric) positive definite matrix. The other
/// triangle stays poison.
template <class T>
void fill_definite(Matrix<T>& a, char uplo, Rng& rng) {
  a.fill(rng, triangle(uplo));
  for (int i = 0; i < a.rows; ++i) a(i, i) = T(static_cast<blas::Real<T>>(2 * a.rows));
}

template <class T>
std::string potrf(int size, Rng& rng) {
  const int n = dimension(rng, size);
  const char uplo = flag(rng, "UL");
  Matrix<T> a(n, n, rng);
  fill_definite(a, uplo, rng);
  const Matrix<T> a0 = a;
  const int info = blas::potrf(uplo, n, a.data(), a.ld);
  if (info != 0) return "info = " + std::to_string(info);
  const auto factor = a.dense(triangle(uplo));
  const bool is_upper = upper(uplo) == 'U';
  const auto left = is_upper ? transposed(factor, 'C') : factor;
  const auto right = is_upper ? factor : transposed(factor, 'C');
  const bool by_vector = large(n, n, n);
  const auto x = probe<T>(n, by_vector, rng);
  const auto full = mirrored(a0, uplo, true);
  const auto got = by_vector ? product(left, product(right, x)) : product(left, right);
  const auto bound = by_vector ? product(magnitude(left), product(magnitude(right), magnitude(x)))
                               : product(magnitude(left), magnitude(right));
  return first({a.changes(a0, triangle(uplo)), compare<T>(got, by_vector ? product(full, x) : full,
                                                          bound, by_vector ? 2 * n : n)});
}

template <class T>
std::string potrs(int size, Rng& rng) {
  const int n = dimension(rng, size), nrhs = pick(rng, 1, std::min(size, 12));
  const char uplo = flag(rng, "UL");
  Matrix<T> a(n, n, rng), b(n, nrhs, rng);
  fill_definite(a, uplo, rng);
  b.fill(rng);
  const auto full = mirrored(a, uplo, true);
  if (blas::potrf(uplo, n, a.data(), a.ld) != 0) return "potrf failed";
  const Matrix<T> a0 = a, b0 = b;
  const int info = blas::potrs(uplo, n, nrhs, a.data(), a.ld, b.data(), b.ld);
  if (info != 0) return "info = " + std::to_string(info);
  auto bound = magnitude(full);
  scale(bound, 4.0);
  return first({a.changes(a0, nowhere), b.changes(b0, everywhere),
                check_solution<T>(full, b.dense(), 1.0, b0.dense(), bound)});
}

using Run = std::string (*)(int, Rng&);
using Table = std::map<std::string, Run>;

template <class T>
void add_common(Table& table, const std::string& p) {
  table[p + "gemm"] = gemm<T>;
  table[p + "syrk"] = rank_k<T, false>;
  table[p + "symm"] = mirrored_product<T, false>;
  table[p + "trmm"] = triangular_call<T, false>;
  table[p + "trsm"] = triangular_call<T, true>;
  table[p + "gesv"] = gesv<T>;
  table[p + "getrf"] = getrf<T>;
  table[p + "getrs"] = getrs<T>;
  table[p + "potrf"] = potrf<T>;
  table[p + "potrs"] = potrs<T>;
}

const Table& table() {
  static const Table built = [] {
    Table t;
    add_common<float>(t, "s");
    add_common<double>(t, "d");
    add_common<blas::Single>(t, "c");
    add_common<blas::Double>(t, "z");
    t["cherk"] = rank_k<blas::Single, true>;
    t["zherk"] = rank_k<blas::Double, true>;
    t["chemm"] = mirrored_product<blas::Single, true>;
    t["zhemm"] = mirrored_product<blas::Double, true>;
    t["fftw"] = fft_double;
    t["fftwf"] = fft_single;
    return t;
  }();
  return built;
}

}  // namespace

const std::vector<std::string>& routines() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const auto& [name, run] : table()) list.push_back(name);
    return list;
  }();
  return names;
}

std::string run(const std::string& routine, int size, Rng& rng) {
  const auto found = table().find(routine);
  if (found == table().end()) return "no such routine: " + routine;
  const std::string problem = found->second(size, rng);
  return problem.empty() ? "" : routine + ": " + problem;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::uint64_t seed() {
  const char* given = std::getenv("OUTBOARD_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
}

}  // namespace workload
