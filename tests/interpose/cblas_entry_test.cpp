// Every CBLAS entry point under a preloaded stand-in, both layouts, against the library's own
// function. OB_PATTERNS: "cblas_% scipy_cblas_%"; OB_ILP64: the patterns' integers are 64-bit;
// OB_REFERENCE: the library.

#include <gtest/gtest.h>

#include <sstream>
#include <type_traits>

#include "interpose/standin_counts.hpp"
#include "routines/problem.hpp"

namespace ob::test {
namespace {

enum Layout { kRowMajor = 101, kColumnMajor = 102 };

int trans_of(char c) { return c == 'N' ? 111 : c == 'T' ? 112 : 113; }
int uplo_of(char c) { return c == 'U' ? 121 : 122; }
int diag_of(char c) { return c == 'N' ? 131 : 132; }
int side_of(char c) { return c == 'L' ? 141 : 142; }

void* reference() {
  static void* const handle = dlopen(std::getenv("OB_REFERENCE"), RTLD_NOW | RTLD_LOCAL);
  return handle;
}

std::vector<std::string> names(std::string_view routine) {
  std::istringstream words(std::getenv("OB_PATTERNS"));
  std::vector<std::string> result;
  for (std::string word; words >> word;) {
    const std::size_t at = word.find('%');
    result.push_back(word.substr(0, at) + std::string(routine) + word.substr(at + 1));
  }
  return result;
}

template <class T>
struct Real {
  using type = T;
};
template <class R>
struct Real<std::complex<R>> {
  using type = R;
};

// One matrix in either layout, with gaps and poison. Elements that a triangle leaves out stay
// poisoned.
template <class T>
struct Stored {
  std::vector<T> values;
  std::int64_t ld = 0;
};

template <class T>
T nan_of() {
  return std::numeric_limits<typename Real<T>::type>::quiet_NaN();
}

template <class T, class Int>
class Case {
 public:
  using R = typename Real<T>::type;
  static constexpr bool kComplex = !std::is_same_v<T, R>;
  using Scalar = std::conditional_t<kComplex, const void*, T>;

  Case(Layout layout, std::mt19937_64& random) : layout_(layout), random_(random) {
    m_ = uniform<Int>(random_, 0, 11);
    n_ = uniform<Int>(random_, 0, 11);
    k_ = uniform<Int>(random_, 0, 11);
    alpha_ = T(random_value());
    beta_ = uniform(random_, 0, 2) == 0 ? T(0) : random_value();
  }

  // Runs `routine` twice, through the entry `name` and the reference; returns what differs.
  std::string run(const std::string& routine, const std::string& name) {
    void* native = dlsym(reference(), ("cblas_" + routine).c_str());
    void* entry = bound(name.c_str());
    if (native == nullptr || entry == nullptr) return name + " is missing";
    make(routine.substr(1));
    const Stored<T> before = c_;
    call(routine.substr(1), native);
    const Stored<T> expected = c_;
    c_ = before;
    const int done_before = done();
    call(routine.substr(1), entry);
    const bool nothing = alpha_ == T(0) || m_ == 0 || n_ == 0 || (k_counts_ && k_ == 0);
    // Exactly what the daemon could have done must have gone out.
    if (mode_is("compute") && (done() > done_before) == (nothing || stays_))
      return text(name) + ": wrong way";
    return compare(expected, name);
  }

 private:
  T random_value() {
    std::uniform_real_distribution<R> unit(-1, 1);
    if constexpr (kComplex)
      return T(unit(random_), unit(random_));
    else
      return unit(random_);
  }

  // triangle: 'U', 'L' or 'A'll; unit: the diagonal is not referenced.
  Stored<T> matrix(Int rows, Int cols, char triangle = 'A', bool unit = false, bool filled = true) {
    Stored<T> result;
    const bool row_major = layout_ == kRowMajor;
    result.ld = std::max<Int>(1, row_major ? cols : rows) + uniform<Int>(random_, 0, 2);
    result.values.assign(
        static_cast<std::size_t>(result.ld * std::max<Int>(1, row_major ? rows : cols) + 3),
        nan_of<T>());
    for (Int i = 0; i < rows && filled; ++i) {
      for (Int j = 0; j < cols; ++j) {
        if ((triangle == 'U' && i > j) || (triangle == 'L' && i < j) || (unit && i == j)) continue;
        T value = random_value();
        if (i == j) value = T(R(rows + 1));
        result.values[static_cast<std::size_t>(row_major ? i * result.ld + j : i + j * result.ld)] =
            value;
      }
    }
    return result;
  }

  char pick(const char* values) {
    return values[uniform<std::size_t>(random_, 0, std::strlen(values) - 1)];
  }

  void make(const std::string& base) {
    side_ = pick("LR");
    uplo_ = pick("UL");
    diag_ = pick("NU");
    transa_ = pick("NTC");
    transb_ = pick("NTC");
    const bool reads_c = beta_ != T(0);
    k_counts_ = base == "gemm" || base == "syrk" || base == "herk";
    const Int order = side_ == 'L' ? m_ : n_;
    if (base == "gemm") {
      a_ = transa_ == 'N' ? matrix(m_, k_) : matrix(k_, m_);
      b_ = transb_ == 'N' ? matrix(k_, n_) : matrix(n_, k_);
      c_ = matrix(m_, n_, 'A', false, reads_c);
    } else if (base == "symm" || base == "hemm") {
      a_ = matrix(order, order, uplo_);
      b_ = matrix(m_, n_);
      c_ = matrix(m_, n_, 'A', false, reads_c);
    } else if (base == "syrk" || base == "herk") {
      if (base == "herk")
        transa_ = pick("NC");
      else if (kComplex)
        transa_ = pick("NT");
      m_ = n_;
      if (base == "herk") alpha_ = T(std::real(alpha_)), beta_ = T(std::real(beta_));
      a_ = transa_ == 'N' ? matrix(n_, k_) : matrix(k_, n_);
      c_ = matrix(n_, n_, uplo_, false, beta_ != T(0));
    } else {
      a_ = matrix(order, order, uplo_, diag_ == 'U');
      c_ = matrix(m_, n_);
    }
  }

  Scalar pass(const T& value) const {
    if constexpr (kComplex)
      return &value;
    else
      return value;
  }

  void call(const std::string& base, void* f) {
    const Int lda = a_.ld;
    const Int ldb = b_.ld;
    const Int ldc = c_.ld;
    T* a = a_.values.data();
    T* c = c_.values.data();
    if (base == "gemm") {
      using F = void (*)(int, int, int, Int, Int, Int, Scalar, const T*, Int, const T*, Int, Scalar,
                         T*, Int);
      reinterpret_cast<F>(f)(layout_, trans_of(transa_), trans_of(transb_), m_, n_, k_,
                             pass(alpha_), a, lda, b_.values.data(), ldb, pass(beta_), c, ldc);
    } else if (base == "symm" || base == "hemm") {
      using F =
          void (*)(int, int, int, Int, Int, Scalar, const T*, Int, const T*, Int, Scalar, T*, Int);
      reinterpret_cast<F>(f)(layout_, side_of(side_), uplo_of(uplo_), m_, n_, pass(alpha_), a, lda,
                             b_.values.data(), ldb, pass(beta_), c, ldc);
    } else if (base == "syrk") {
      using F = void (*)(int, int, int, Int, Int, Scalar, const T*, Int, Scalar, T*, Int);
      reinterpret_cast<F>(f)(layout_, uplo_of(uplo_), trans_of(transa_), n_, k_, pass(alpha_), a,
                             lda, pass(beta_), c, ldc);
    } else if (base == "herk") {
      using F = void (*)(int, int, int, Int, Int, R, const T*, Int, R, T*, Int);
      reinterpret_cast<F>(f)(layout_, uplo_of(uplo_), trans_of(transa_), n_, k_, std::real(alpha_),
                             a, lda, std::real(beta_), c, ldc);
    } else {
      using F = void (*)(int, int, int, int, int, Int, Int, Scalar, const T*, Int, T*, Int);
      reinterpret_cast<F>(f)(layout_, side_of(side_), uplo_of(uplo_), trans_of(transa_),
                             diag_of(diag_), m_, n_, pass(alpha_), a, lda, c, ldc);
    }
  }

  std::string text(const std::string& name) const {
    std::ostringstream out;
    out << name << " layout " << layout_ << " side " << side_ << " uplo " << uplo_ << " trans "
        << transa_ << transb_ << " diag " << diag_ << " m " << m_ << " n " << n_ << " k " << k_
        << " alpha " << alpha_ << " beta " << beta_;
    return out.str();
  }

  // Bytes that differ must be results that agree to rounding (50 (m + n + k + 10) eps, as
  // problem.hpp's).
  std::string compare(const Stored<T>& expected, const std::string& name) const {
    const R allowed = R(50 * (m_ + n_ + k_ + 10)) * std::numeric_limits<R>::epsilon();
    R largest = 1;
    for (const T& v : expected.values)
      largest = std::isfinite(std::abs(v)) ? std::max(largest, std::abs(v)) : largest;
    for (std::size_t i = 0; i < expected.values.size(); ++i) {
      if (std::memcmp(&expected.values[i], &c_.values[i], sizeof(T)) == 0) continue;
      if (std::abs(expected.values[i] - c_.values[i]) <= allowed * largest) continue;
      return text(name) + ": differs at " + std::to_string(i);
    }
    return {};
  }

  Layout layout_;
  std::mt19937_64& random_;
  Int m_, n_, k_;
  T alpha_, beta_;
  char side_ = 'L', uplo_ = 'U', diag_ = 'N', transa_ = 'N', transb_ = 'N';
  bool k_counts_ = false;
  bool stays_ = false;
  Stored<T> a_, b_, c_;
};

template <class T, class Int>
void try_all(char precision, std::initializer_list<const char*> bases, std::mt19937_64& random) {
  for (const char* base : bases) {
    const std::string routine = precision + std::string(base);
    for (const std::string& name : names(routine)) {
      for (int round = 0; round < 80; ++round) {
        Case<T, Int> one(round % 2 == 0 ? kRowMajor : kColumnMajor, random);
        const std::string wrong = one.run(routine, name);
        ASSERT_TRUE(wrong.empty()) << wrong;
      }
    }
  }
}

template <class Int>
void try_precisions() {
  auto random = fresh_random();
  try_all<float, Int>('s', {"gemm", "symm", "syrk", "trmm", "trsm"}, random);
  try_all<double, Int>('d', {"gemm", "symm", "syrk", "trmm", "trsm"}, random);
  try_all<std::complex<float>, Int>('c', {"gemm", "symm", "hemm", "syrk", "herk", "trmm", "trsm"},
                                    random);
  try_all<std::complex<double>, Int>('z', {"gemm", "symm", "hemm", "syrk", "herk", "trmm", "trsm"},
                                     random);
}

TEST(CblasEntry, EveryRoutineAffixAndLayoutMatchesTheLibrary) {
  if (reference() == nullptr) GTEST_SKIP() << dlerror();
  const char* ilp64 = std::getenv("OB_ILP64");
  if (ilp64 != nullptr && *ilp64 == '1')
    try_precisions<std::int64_t>();
  else
    try_precisions<std::int32_t>();
}

// What the reference BLAS takes for illegal, and what only some libraries understand, is the
// original's business.
TEST(CblasEntry, UnknownEnumerationsReachTheLibrary) {
  using F = void (*)(int, int, int, std::int64_t, std::int64_t, std::int64_t, double, const double*,
                     std::int64_t, const double*, std::int64_t, double, double*, std::int64_t);
  const double one = 1;
  double c = 7;
  const int before = calls();
  const auto dgemm = reinterpret_cast<F>(bound(names("dgemm")[0].c_str()));
  dgemm(kRowMajor, 131, 111, 1, 1, 1, 1.0, &one, 1, &one, 1, 0.0, &c, 1);  // a diag for a trans
  dgemm(99, 111, 111, 1, 1, 1, 1.0, &one, 1, &one, 1, 0.0, &c, 1);         // no layout
  EXPECT_EQ(calls(), before);
  EXPECT_EQ(c, 7);
  using S = void (*)(int, int, int, std::int64_t, std::int64_t, const void*, const void*,
                     std::int64_t, const void*, void*, std::int64_t);
  const std::complex<double> z(1, 0);
  std::complex<double> result(7, 0);
  // Row-major ConjTrans of a symmetric update: not to be flipped into something legal.
  reinterpret_cast<S>(bound(names("zsyrk")[0].c_str()))(kRowMajor, 121, 113, 1, 1, &z, &z, 1, &z,
                                                        &result, 1);
  EXPECT_EQ(calls(), before);
}

}  // namespace
}  // namespace ob::test
