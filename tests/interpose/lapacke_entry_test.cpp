// Every LAPACKE entry point under a preloaded stand-in, both layouts, against LAPACKE itself.
// OB_PATTERNS: "LAPACKE_% LAPACKE_%_work"; OB_ILP64: the patterns' integers are 64-bit.

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <type_traits>

#include "interpose/standin_counts.hpp"
#include "routines/problem.hpp"

namespace ob::test {
namespace {

enum Layout { kRowMajor = 101, kColumnMajor = 102 };

// The far side of the comparison always has 32-bit integers: there is no ILP64 LAPACKE to compare
// with. It lives in a namespace of its own, where its calls of itself do not meet our entries.
void* reference() {
  static void* const handle = dlmopen(LM_ID_NEWLM, "liblapacke.so.3", RTLD_NOW | RTLD_LOCAL);
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

bool ilp64() {
  const char* value = std::getenv("OB_ILP64");
  return value != nullptr && *value == '1';
}

// Arguments of one call: what both sides get copies of.
template <class T>
struct Inputs {
  int layout = kRowMajor;
  char uplo = 'U';
  char trans = 'N';
  std::int64_t m = 0, n = 0, nrhs = 0, lda = 0, ldb = 0;
  std::vector<T> a, b;
  std::vector<std::int64_t> ipiv;
  std::int64_t info = 0;
};

template <class T, class Int>
void call(const std::string& base, void* f, Inputs<T>& in) {
  std::vector<Int> ipiv(in.ipiv.begin(), in.ipiv.end());
  const Int m = in.m, n = in.n, nrhs = in.nrhs, lda = in.lda, ldb = in.ldb;
  T* a = in.a.data();
  T* b = in.b.data();
  Int info = -77;
  if (base == "gesv") {
    info = reinterpret_cast<Int (*)(int, Int, Int, T*, Int, Int*, T*, Int)>(f)(
        in.layout, n, nrhs, a, lda, ipiv.data(), b, ldb);
  } else if (base == "getrf") {
    info = reinterpret_cast<Int (*)(int, Int, Int, T*, Int, Int*)>(f)(in.layout, m, n, a, lda,
                                                                      ipiv.data());
  } else if (base == "getrs") {
    info = reinterpret_cast<Int (*)(int, char, Int, Int, const T*, Int, const Int*, T*, Int)>(f)(
        in.layout, in.trans, n, nrhs, a, lda, ipiv.data(), b, ldb);
  } else if (base == "potrf") {
    info = reinterpret_cast<Int (*)(int, char, Int, T*, Int)>(f)(in.layout, in.uplo, n, a, lda);
  } else {
    info = reinterpret_cast<Int (*)(int, char, Int, Int, const T*, Int, T*, Int)>(f)(
        in.layout, in.uplo, n, nrhs, a, lda, b, ldb);
  }
  in.ipiv.assign(ipiv.begin(), ipiv.end());
  in.info = info;
}

template <class T>
T random_value(std::mt19937_64& random) {
  std::uniform_real_distribution<double> unit(-1, 1);
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(unit(random));
  else
    return T(static_cast<typename T::value_type>(unit(random)),
             static_cast<typename T::value_type>(unit(random)));
}

// rows x cols in the layout, gaps and everything outside the triangle NaN, a dominant real
// diagonal.
template <class T>
std::vector<T> matrix(std::mt19937_64& random, int layout, std::int64_t rows, std::int64_t cols,
                      std::int64_t ld, char triangle) {
  const bool row_major = layout == kRowMajor;
  std::vector<T> values(
      static_cast<std::size_t>(ld * std::max<std::int64_t>(1, row_major ? rows : cols) + 3),
      T(NAN));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) {
      if ((triangle == 'U' && i > j) || (triangle == 'L' && i < j)) continue;
      T value = random_value<T>(random);
      if (i == j) value = T(static_cast<float>(rows + 2));
      values[static_cast<std::size_t>(row_major ? i * ld + j : i + j * ld)] = value;
    }
  }
  return values;
}

template <class T>
Inputs<T> make(const std::string& base, std::mt19937_64& random) {
  Inputs<T> in;
  in.layout = uniform(random, 0, 1) == 0 ? kRowMajor : kColumnMajor;
  in.uplo = "UuLl"[uniform(random, 0, 3)];
  in.trans = "NTCntc"[uniform(random, 0, 5)];
  in.m = uniform<std::int64_t>(random, 1, 12);
  in.n = uniform<std::int64_t>(random, 1, 12);
  in.nrhs = uniform<std::int64_t>(random, 1, 5);
  const std::int64_t rows = base == "getrf" ? in.m : in.n;
  const bool row_major = in.layout == kRowMajor;
  in.lda = (row_major ? in.n : rows) + uniform<std::int64_t>(random, 0, 2);
  in.ldb = (row_major ? in.nrhs : in.n) + uniform<std::int64_t>(random, 0, 2);
  const char triangle = base[0] == 'p' ? static_cast<char>(in.uplo & ~0x20) : 'A';
  in.a = matrix<T>(random, in.layout, rows, in.n, in.lda, triangle);
  in.b = matrix<T>(random, in.layout, in.n, in.nrhs, in.ldb, 'A');
  for (std::int64_t i = 1; i <= std::min(rows, in.n); ++i)
    in.ipiv.push_back(uniform(random, i, in.n));
  in.ipiv.push_back(-77);  // one too far
  return in;
}

template <class T>
std::string compare(const std::vector<T>& x, const std::vector<T>& y, const char* what) {
  using R = decltype(std::abs(T()));
  R largest = 1;
  for (const T& v : x)
    largest = std::isfinite(std::abs(v)) ? std::max(largest, std::abs(v)) : largest;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::memcmp(&x[i], &y[i], sizeof(T)) == 0) continue;
    // Bound as problem.hpp's, with m + n at most 24.
    if (std::abs(x[i] - y[i]) <= 2000 * std::numeric_limits<R>::epsilon() * largest) continue;
    return std::string(what) + " differs at " + std::to_string(i);
  }
  return {};
}

template <class T, class Int>
void try_all(char precision, std::mt19937_64& random) {
  for (const std::string base : {"gesv", "getrf", "getrs", "potrf", "potrs"}) {
    void* native = dlsym(reference(), ("LAPACKE_" + (precision + base)).c_str());
    ASSERT_NE(native, nullptr);
    for (const std::string& name : names(precision + base)) {
      void* entry = bound(name.c_str());
      ASSERT_NE(entry, nullptr) << name;
      for (int round = 0; round < 60; ++round) {
        Inputs<T> expected = make<T>(base, random);
        Inputs<T> actual = expected;
        call<T, std::int32_t>(base, native, expected);
        const int done_before = done();
        call<T, Int>(base, entry, actual);
        if (mode_is("compute")) {
          ASSERT_GT(done(), done_before) << name;
        }
        std::ostringstream where;
        where << name << " layout " << actual.layout << " uplo " << actual.uplo << " trans "
              << actual.trans << " m " << actual.m << " n " << actual.n << " nrhs " << actual.nrhs;
        ASSERT_EQ(actual.info, expected.info) << where.str();
        ASSERT_EQ(actual.ipiv, expected.ipiv) << where.str();
        ASSERT_EQ(compare(expected.a, actual.a, "a"), "") << where.str();
        ASSERT_EQ(compare(expected.b, actual.b, "b"), "") << where.str();
      }
    }
  }
}

template <class Int>
void try_precisions() {
  auto random = fresh_random();
  try_all<float, Int>('s', random);
  try_all<double, Int>('d', random);
  try_all<std::complex<float>, Int>('c', random);
  try_all<std::complex<double>, Int>('z', random);
}

TEST(LapackeEntry, EveryRoutineAffixAndLayoutMatchesTheLibrary) {
  if (reference() == nullptr) GTEST_SKIP() << dlerror();
  if (ilp64())
    try_precisions<std::int64_t>();
  else
    try_precisions<std::int32_t>();
}

TEST(LapackeEntry, NanIsRefusedAsTheLibraryRefusesIt) {
  if (reference() == nullptr) GTEST_SKIP() << dlerror();
  if (ilp64()) GTEST_SKIP() << "needs the original, and there is no ILP64 LAPACKE";
  auto random = fresh_random();
  for (const int layout : {kRowMajor, kColumnMajor}) {
    for (int round = 0; round < 20; ++round) {
      Inputs<double> in = make<double>("gesv", random);
      while (in.layout != layout) in = make<double>("gesv", random);
      const bool in_b = uniform(random, 0, 1) == 1;
      (in_b ? in.b : in.a)[0] = NAN;
      Inputs<double> expected = in;
      const int before = calls();
      call<double, std::int32_t>("gesv", dlsym(reference(), "LAPACKE_dgesv"), expected);
      call<double, std::int32_t>("gesv", bound(names("dgesv")[0].c_str()), in);
      EXPECT_EQ(in.info, in_b ? -7 : -4);
      EXPECT_EQ(in.info, expected.info);
      if (mode_is("compute")) {
        EXPECT_EQ(calls(), before);
      }
    }
  }
}

TEST(LapackeEntry, IllegalCallsGetTheLibrarysInfo) {
  if (reference() == nullptr) GTEST_SKIP() << dlerror();
  if (ilp64()) GTEST_SKIP() << "needs the original, and there is no ILP64 LAPACKE";
  int refused = 0;
  auto random = fresh_random();
  for (const int layout : {int{kRowMajor}, int{kColumnMajor}, 55}) {
    for (const std::string base : {"gesv", "getrf", "getrs", "potrf", "potrs"}) {
      Inputs<double> in = make<double>(base, random);
      while (in.nrhs < 2 || in.n < 2 || in.m < 2) in = make<double>(base, random);
      in.layout = layout;
      in.lda = 1;
      in.ldb = 1;
      in.uplo = 'U';
      in.a.assign(400, 1.0);
      in.b.assign(400, 1.0);
      Inputs<double> expected = in;
      const int before = calls();
      call<double, std::int32_t>(base, dlsym(reference(), ("LAPACKE_d" + base).c_str()), expected);
      call<double, std::int32_t>(base, bound(names("d" + base)[0].c_str()), in);
      refused += expected.info < 0 ? 1 : 0;  // not all: OpenBLAS's dgetrs forgets to say so
      EXPECT_EQ(in.info, expected.info) << base << layout;
      EXPECT_EQ(calls(), before) << base << layout;
    }
  }
  EXPECT_GE(refused, 14);
}

}  // namespace
}  // namespace ob::test
