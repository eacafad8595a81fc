// Compares the emitted thunks with loops written from the definitions.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/cpu/thunk.hpp"
#include "routines/problem.hpp"

namespace ob::test {
namespace {

using Value = std::complex<double>;

struct Matrix {
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::vector<Value> values;
  Matrix(std::uint64_t m, std::uint64_t n) : rows(m), cols(n), values(m * n) {}
  Value& operator()(std::uint64_t i, std::uint64_t j) { return values[i + j * rows]; }
  Value operator()(std::uint64_t i, std::uint64_t j) const { return values[i + j * rows]; }
};

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c(a.rows, b.cols);
  for (std::uint64_t i = 0; i < a.rows; ++i) {
    for (std::uint64_t j = 0; j < b.cols; ++j) {
      for (std::uint64_t k = 0; k < a.cols; ++k) c(i, j) += a(i, k) * b(k, j);
    }
  }
  return c;
}

Matrix op(const Matrix& a, char trans) {
  if (trans == 'N') return a;
  Matrix t(a.cols, a.rows);
  for (std::uint64_t i = 0; i < a.rows; ++i) {
    for (std::uint64_t j = 0; j < a.cols; ++j)
      t(j, i) = trans == 'C' ? std::conj(a(i, j)) : a(i, j);
  }
  return t;
}

// Returns the whole matrix that an operand represents.
enum class Meaning { general, symmetric, hermitian, triangular };

Matrix whole(const Problem& p, const Operand& o, Meaning meaning) {
  Matrix a(o.rows, o.cols);
  for (std::uint64_t i = 0; i < o.rows; ++i) {
    for (std::uint64_t j = 0; j < o.cols; ++j) {
      if (referenced(o.triangle, i, j))
        a(i, j) = p.value(o, i, j);
      else if (meaning == Meaning::symmetric)
        a(i, j) = p.value(o, j, i);
      else if (meaning == Meaning::hermitian)
        a(i, j) = std::conj(p.value(o, j, i));
      else
        a(i, j) = i == j ? 1.0 : 0.0;  // outside a triangle, or its unit diagonal
    }
  }
  return a;
}

char flag(const Problem& p, std::string_view name) { return p.flag(name); }
Value scalar(const Problem& p, std::string_view name) { return p.scalar(name); }

void expect_near(const Problem& p, const Operand& o, const Matrix& expected, const char* what) {
  double largest = 0;
  for (const Value& v : expected.values) largest = std::max(largest, std::abs(v));
  // This is the bound of difference() in problem.hpp.
  const double allowed = 50 * static_cast<double>(o.rows + o.cols + 30) *
                         epsilon(p.routine->precision) * (largest + 1);
  for (std::uint64_t i = 0; i < o.rows; ++i) {
    for (std::uint64_t j = 0; j < o.cols; ++j) {
      if (!referenced(o.triangle, i, j)) continue;
      ASSERT_LE(std::abs(p.value(o, i, j) - expected(i, j)), allowed)
          << p.text() << " " << what << " at " << i << "," << j;
    }
  }
}

// Returns alpha X + beta C. C is read only if beta != 0.
Matrix combine(const Problem& p, const Operand& o, const Matrix& x) {
  Matrix c(o.rows, o.cols);
  for (std::uint64_t i = 0; i < o.rows; ++i) {
    for (std::uint64_t j = 0; j < o.cols; ++j) {
      if (!referenced(o.triangle, i, j)) continue;
      c(i, j) = scalar(p, "alpha") * x(i, j);
      if (o.read) c(i, j) += scalar(p, "beta") * p.value(o, i, j);
    }
  }
  return c;
}

void check_blas(const Problem& before, const Problem& after) {
  const std::string_view base = before.routine->base;
  const Operand& a = before.operand("a");
  if (base == "trmm" || base == "trsm") {
    const Matrix t = op(whole(before, a, Meaning::triangular), flag(before, "transa"));
    const Operand& b = before.operand("b");
    const bool left = flag(before, "side") == 'L';
    const Matrix old = whole(before, b, Meaning::general);
    const Matrix now = whole(after, b, Meaning::general);
    const Matrix& factor = base == "trmm" ? old : now;  // trsm: op(A) B' = alpha B
    Matrix expected = left ? product(t, factor) : product(factor, t);
    if (base == "trmm") {
      for (Value& v : expected.values) v *= scalar(before, "alpha");
      return expect_near(after, b, expected, "trmm");
    }
    Problem residual = before;
    for (std::uint64_t i = 0; i < b.rows; ++i) {
      for (std::uint64_t j = 0; j < b.cols; ++j) {
        store(before.routine->precision, residual.at(b, i, j), scalar(before, "alpha") * old(i, j));
      }
    }
    return expect_near(residual, b, expected, "trsm");
  }
  const Operand& c = before.operand("c");
  Matrix x(0, 0);
  if (base == "gemm") {
    x = product(op(whole(before, a, Meaning::general), flag(before, "transa")),
                op(whole(before, before.operand("b"), Meaning::general), flag(before, "transb")));
  } else if (base == "symm" || base == "hemm") {
    Matrix s = whole(before, a, base == "symm" ? Meaning::symmetric : Meaning::hermitian);
    const Matrix b = whole(before, before.operand("b"), Meaning::general);
    x = flag(before, "side") == 'L' ? product(s, b) : product(b, s);
  } else {
    const Matrix g = whole(before, a, Meaning::general);
    const char other = base == "herk" ? 'C' : 'T';
    x = flag(before, "trans") == 'N' ? product(g, op(g, other)) : product(op(g, other), g);
  }
  expect_near(after, c, combine(before, c, x), "c");
}

void check_lapack(const Problem& before, const Problem& after) {
  const std::string_view base = before.routine->base;
  ASSERT_EQ(after.index(after.operand("info"), 0), 0) << before.text();
  const Operand& a = before.operand("a");
  if (base == "gesv") {
    const Operand& b = before.operand("b");
    const Matrix ax =
        product(whole(before, a, Meaning::general), whole(after, b, Meaning::general));
    return expect_near(before, b, ax, "residual");
  }
  if (base == "potrf") {
    const Matrix t = [&] {
      Matrix m = whole(after, a, Meaning::general);
      for (std::uint64_t i = 0; i < a.rows; ++i) {
        for (std::uint64_t j = 0; j < a.cols; ++j) {
          if (!referenced(a.triangle, i, j)) m(i, j) = 0;
        }
      }
      return m;
    }();
    return expect_near(
        before, a, flag(before, "uplo") == 'U' ? product(op(t, 'C'), t) : product(t, op(t, 'C')),
        "A");
  }
  // getrf, getrs: P A = L U with the exchanges in ipiv. getrs: undo the steps on B.
  const Problem& factored = base == "getrf" ? after : before;
  Matrix lower(a.rows, std::min(a.rows, a.cols));
  Matrix upper(std::min(a.rows, a.cols), a.cols);
  for (std::uint64_t i = 0; i < a.rows; ++i) {
    for (std::uint64_t j = 0; j < a.cols; ++j) {
      if (i > j)
        lower(i, j) = factored.value(a, i, j);
      else
        upper(i, j) = factored.value(a, i, j);
    }
  }
  for (std::uint64_t i = 0; i < lower.cols; ++i) lower(i, i) = 1;
  Matrix lu = product(lower, upper);
  const Operand& ipiv = before.operand("ipiv");
  for (std::uint64_t i = ipiv.rows; i-- > 0;) {
    const auto with = static_cast<std::uint64_t>(factored.index(ipiv, i) - 1);
    for (std::uint64_t j = 0; j < lu.cols; ++j) std::swap(lu(i, j), lu(with, j));
  }
  if (base == "getrf") return expect_near(before, a, lu, "P L U");
  const Operand& b = before.operand("b");
  expect_near(before, b, product(op(lu, flag(before, "trans")), whole(after, b, Meaning::general)),
              "residual");
}

void check_potrs(const Problem& before, const Problem& after) {
  const Operand& a = before.operand("a");
  Matrix t(a.rows, a.cols);
  for (std::uint64_t i = 0; i < a.rows; ++i) {
    for (std::uint64_t j = 0; j < a.cols; ++j) {
      if (referenced(a.triangle, i, j)) t(i, j) = before.value(a, i, j);
    }
  }
  const Matrix whole_a =
      flag(before, "uplo") == 'U' ? product(op(t, 'C'), t) : product(t, op(t, 'C'));
  const Operand& b = before.operand("b");
  expect_near(before, b, product(whole_a, whole(after, b, Meaning::general)), "residual");
}

TEST(Thunk, TableOrderAndSymbols) {
  const auto thunks = cpu::thunks();
  const auto all = routines::all();
  ASSERT_EQ(thunks.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(thunks[i].id, all[i].id);
    EXPECT_EQ(thunks[i].symbol, std::string(all[i].name) + "_");
  }
}

void* library() {
  static void* const handle = [] {
    void* opened = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) ADD_FAILURE() << dlerror();
    return opened;
  }();
  return handle;
}

// Returns true for routines with a definition above. tests/conformance/device has one for every
// row.
bool is_defined_here(const Descriptor& routine) {
  const std::string_view names[] = {"gemm", "symm", "hemm",  "syrk",  "herk",  "trmm",
                                    "trsm", "gesv", "getrf", "getrs", "potrf", "potrs"};
  return std::find(std::begin(names), std::end(names), routine.base) != std::end(names);
}

TEST(Thunk, RoutinesComputeTheirDefinitions) {
  auto random = fresh_random();
  int checked = 0;
  for (std::size_t i = 0; i < routines::all().size(); ++i) {
    const Descriptor& routine = routines::all()[i];
    if (!is_defined_here(routine)) continue;
    void* function = dlsym(library(), cpu::thunks()[i].symbol);
    ASSERT_NE(function, nullptr) << routine.name;
    for (int round = 0; round < 60; ++round) {
      const Problem before = random_problem(routine, random, 12);
      Problem after = before;
      ASSERT_TRUE(cpu::thunks()[i].thunk(function, after.arguments));
      if (routine.trivial(before.arguments)) continue;
      if (routine.library == Library::blas)
        check_blas(before, after);
      else if (routine.base == "potrs")
        check_potrs(before, after);
      else
        check_lapack(before, after);
      if (HasFatalFailure()) return;
      ++checked;
    }
  }
  EXPECT_GT(checked, 1000);
}

// For any row, inputs and all memory around operands stay unchanged.
TEST(Thunk, NothingButResultsChanges) {
  auto random = fresh_random();
  for (std::size_t i = 0; i < routines::all().size(); ++i) {
    const Descriptor& routine = routines::all()[i];
    void* function = dlsym(library(), cpu::thunks()[i].symbol);
    if (function == nullptr) {
      std::printf("%s: the library lacks it\n", cpu::thunks()[i].symbol);
      continue;
    }
    for (int round = 0; round < 10; ++round) {
      const Problem before = random_problem(routine, random, 12);
      Problem after = before;
      ASSERT_TRUE(cpu::thunks()[i].thunk(function, after.arguments));
      EXPECT_EQ(intrusion(before, after), "");
    }
  }
}

TEST(Thunk, InfoAndPivotsAreWide) {
  const Descriptor* routine = routines::find("dgetrf");
  double a[4] = {0, 2, 0, 3};  // column-major [0 0; 2 3]: rows exchanged, then U(2, 2) = 0
  std::int64_t ipiv[3] = {-1, -1, -7};
  std::int64_t info = -1;
  Argument arguments[kMaxArguments];
  arguments[0].dim = arguments[1].dim = 2;
  arguments[2].host = {a, 2};
  arguments[3].host = {ipiv, 0};
  arguments[4].host = {&info, 0};
  cpu::thunks()[static_cast<std::size_t>(routine - routines::all().data())].thunk(
      dlsym(library(), "dgetrf_"), arguments);
  EXPECT_EQ(info, 2);
  EXPECT_EQ(ipiv[0], 2);
  EXPECT_EQ(ipiv[1], 2);
  EXPECT_EQ(ipiv[2], -7);
}

}  // namespace
}  // namespace ob::test
