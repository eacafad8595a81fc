// BLAS level 3 against long double.
//
// Tolerance: |C - Cref|_ij <= 4 (k + 2) eps (|alpha| |op(A)| |op(B)| + |beta| |C|)_ij, the
// componentwise bound of a sum of k products in any order (Higham, Accuracy and Stability of
// Numerical Algorithms, 3.5) with room for complex arithmetic; for trsm the same of the residual
// (8.2 there).

#include <algorithm>
#include <limits>

#include "conformance/device/routine_run.hpp"

namespace ob::test {
namespace {

constexpr long double kTolerance = 4;

struct Expected {
  Dense error;  // computed minus right, or a residual
  Dense bound;  // without eps and the constant
};

using Check = Expected (*)(const RoutineInput& in, const RoutineOutput& out);

Wide wide(Complex x) { return {x.re, x.im}; }

Wide alpha_of(const RoutineInput& in) { return wide(in.scalars.at("alpha")); }

long double terms(std::uint64_t k) { return static_cast<long double>(k + 2); }

// alpha X Y + beta C, where beta = 0 and alpha = 0 mean that C, or X and Y, are not read.
Expected product(const RoutineInput& in, const RoutineOutput& out, const Dense& x, const Dense& y) {
  const Wide alpha = alpha_of(in);
  const Wide beta = wide(in.scalars.at("beta"));
  const Dense& result = out.matrices.at("c");
  Dense right(result.rows, result.cols);
  Dense bound(result.rows, result.cols);
  if (alpha != Wide(0)) {
    right = alpha * (x * y);
    bound = Wide(std::abs(alpha)) * (abs(x) * abs(y));
  }
  if (beta != Wide(0)) {
    const Dense& c = in.matrices.at("c");
    right = right + beta * c;
    bound = bound + Wide(std::abs(beta)) * abs(c);
  }
  return {result - right, terms(x.cols) * bound};
}

Expected check_gemm(const RoutineInput& in, const RoutineOutput& out) {
  return product(in, out, op(in.flags.at("transa"), in.matrices.at("a")),
                 op(in.flags.at("transb"), in.matrices.at("b")));
}

Expected check_side(const RoutineInput& in, const RoutineOutput& out, const Dense& a) {
  const Dense& b = in.matrices.at("b");
  return in.flags.at("side") == 'L' ? product(in, out, a, b) : product(in, out, b, a);
}

Expected check_symm(const RoutineInput& in, const RoutineOutput& out) {
  return check_side(in, out, symmetric(in.flags.at("uplo"), in.matrices.at("a")));
}

Expected check_hemm(const RoutineInput& in, const RoutineOutput& out) {
  return check_side(in, out, hermitian(in.flags.at("uplo"), in.matrices.at("a")));
}

Expected check_syrk(const RoutineInput& in, const RoutineOutput& out) {
  const Dense& a = in.matrices.at("a");
  const bool plain = in.flags.at("trans") == 'N';
  return plain ? product(in, out, a, op('T', a)) : product(in, out, op('T', a), a);
}

Expected check_herk(const RoutineInput& in, const RoutineOutput& out) {
  const Dense& a = in.matrices.at("a");
  RoutineInput real_diagonal = in;  // the imaginary parts of C's diagonal are taken as zero,
  const bool product_is_empty = alpha_of(in) == Wide(0) || in.dims.at("k") == 0;
  const bool untouched =
      product_is_empty && in.scalars.at("beta").re == 1;  // unless nothing is done at all
  Dense& c = real_diagonal.matrices.at("c");
  for (std::uint64_t i = 0; i < c.rows && !untouched; ++i) c(i, i) = c(i, i).real();
  const bool plain = in.flags.at("trans") == 'N';
  return plain ? product(real_diagonal, out, a, op('C', a))
               : product(real_diagonal, out, op('C', a), a);
}

Expected check_trmm(const RoutineInput& in, const RoutineOutput& out) {
  const Dense a = op(in.flags.at("transa"),
                     triangular(in.flags.at("uplo"), in.flags.at("diag"), in.matrices.at("a")));
  const Dense& b = in.matrices.at("b");
  const bool left = in.flags.at("side") == 'L';
  const Wide alpha = alpha_of(in);
  const Dense right = alpha * (left ? a * b : b * a);
  const Dense size = left ? abs(a) * abs(b) : abs(b) * abs(a);
  return {out.matrices.at("b") - right, Wide(terms(a.rows) * std::abs(alpha)) * size};
}

Expected check_trsm(const RoutineInput& in, const RoutineOutput& out) {
  const Dense a = op(in.flags.at("transa"),
                     triangular(in.flags.at("uplo"), in.flags.at("diag"), in.matrices.at("a")));
  const Dense right = alpha_of(in) * in.matrices.at("b");
  const Dense& x = out.matrices.at("b");
  const bool left = in.flags.at("side") == 'L';
  const Dense size = left ? abs(a) * abs(x) : abs(x) * abs(a);
  return {(left ? a * x : x * a) - right, Wide(terms(a.rows)) * (size + abs(right))};
}

struct Level3Routine {
  const char* base;
  Check check;
};
constexpr Level3Routine kRoutines[] = {
    {"gemm", check_gemm}, {"symm", check_symm}, {"hemm", check_hemm}, {"syrk", check_syrk},
    {"herk", check_herk}, {"trmm", check_trmm}, {"trsm", check_trsm}};

class Level3Test : public RoutineTest {
 protected:
  // Fills in random matrices for all operands of the flags, dimensions and scalars that are set.
  void fill(const Descriptor& routine, RoutineInput& in) {
    Argument arguments[kMaxArguments];
    for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
      const std::string name(routine.argument_names[i]);
      if (routine.kinds[i] == Kind::flag) arguments[i].flag = in.flags.at(name);
      if (routine.kinds[i] == Kind::dim) arguments[i].dim = in.dims.at(name);
      if (routine.kinds[i] == Kind::scalar || routine.kinds[i] == Kind::real_scalar) {
        arguments[i].scalar = in.scalars.at(name);
      }
    }
    const Operands operands = routine.operands(arguments);
    for (const Operand& operand : operands.span()) {
      const std::string name(routine.argument_names[operand.argument]);
      in.matrices[name] = random_matrix(routine.precision, operand.rows, operand.cols);
    }
    if (routine.base == "trsm") make_solvable(routine.precision, in.matrices.at("a"));
  }

  // Far from singular with and without its diagonal, so that solutions stay of moderate size.
  static void make_solvable(Precision precision, Dense& a) {
    for (std::uint64_t j = 0; j < a.cols; ++j) {
      for (std::uint64_t i = 0; i < a.rows; ++i) {
        if (i == j) {
          a(i, j) += a(i, j).real() < 0 ? -2 : 2;
        } else {
          a(i, j) /= static_cast<long double>(a.rows);
        }
        std::byte memory[16];
        store(precision, memory, a(i, j));
        a(i, j) = load(precision, memory);
      }
    }
  }

  void set_scalars(const Descriptor& routine, RoutineInput& in, std::uint64_t alpha,
                   std::uint64_t beta) {
    for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
      const std::string name(routine.argument_names[i]);
      const bool real = routine.kinds[i] == Kind::real_scalar || !is_complex(routine.precision);
      if (routine.kinds[i] != Kind::scalar && routine.kinds[i] != Kind::real_scalar) continue;
      in.scalars[name] = random_scalar(routine.precision, name == "alpha" ? alpha : beta);
      if (real) in.scalars[name].im = 0;
    }
  }

  void check(const Descriptor& routine, const RoutineInput& in, Check compare) {
    const RoutineOutput out = run(routine, in);
    const std::string what = std::string(routine.name) + " " + in.describe();
    ASSERT_TRUE(out.status.ok()) << what << out.status.message();
    ASSERT_EQ(out.damage, "") << what;
    const Expected expected = compare(in, out);
    Triangle triangle = Triangle::full;
    if (routine.base == "syrk" || routine.base == "herk") {
      triangle = in.flags.at("uplo") == 'U' ? Triangle::upper : Triangle::lower;
    }
    const long double ratio = worst_ratio(expected.error, expected.bound, triangle);
    ASSERT_LE(ratio, kTolerance * epsilon(routine.precision)) << what;
  }
};

TEST_P(Level3Test, AllFlagsAndScalarsAtSmallSizes) {
  for (const auto& [base, compare] : kRoutines) {
    for (const Descriptor* routine : routines_named(base)) {
      for (RoutineInput in : flag_combinations(*routine)) {
        for (std::uint64_t choice = 0; choice < 16; ++choice) {
          for (auto& [name, value] : in.dims) value = static_cast<std::int64_t>(random(1, 7));
          set_scalars(*routine, in, choice % 4, choice / 4);
          fill(*routine, in);
          ASSERT_NO_FATAL_FAILURE(check(*routine, in, compare));
        }
      }
    }
  }
}

TEST_P(Level3Test, AllFlagsAtLargerSizes) {
  for (const auto& [base, compare] : kRoutines) {
    for (const Descriptor* routine : routines_named(base)) {
      for (RoutineInput in : flag_combinations(*routine)) {
        for (auto& [name, value] : in.dims) value = static_cast<std::int64_t>(random(1, 70));
        set_scalars(*routine, in, 3, 3);
        fill(*routine, in);
        ASSERT_NO_FATAL_FAILURE(check(*routine, in, compare));
      }
    }
  }
}

TEST_P(Level3Test, EmptyDimensionsAreQuickReturns) {
  for (const auto& [base, compare] : kRoutines) {
    for (const Descriptor* routine : routines_named(base)) {
      for (RoutineInput in : flag_combinations(*routine)) {
        for (auto& [empty, unused] : RoutineInput(in).dims) {
          for (auto& [name, value] : in.dims) {
            value = name == empty ? 0 : static_cast<std::int64_t>(random(1, 4));
          }
          set_scalars(*routine, in, 3, 3);
          fill(*routine, in);
          ASSERT_NO_FATAL_FAILURE(check(*routine, in, compare));
        }
      }
    }
  }
}

TEST_P(Level3Test, AlphaZeroDoesNotReadTheFactors) {
  const Wide nan(std::numeric_limits<long double>::quiet_NaN(), 0);
  for (const char* base : {"gemm", "symm", "hemm", "syrk", "herk"}) {
    const auto* row =
        std::find_if(std::begin(kRoutines), std::end(kRoutines),
                     [base](const auto& r) { return std::string_view(r.base) == base; });
    for (const Descriptor* routine : routines_named(base)) {
      for (RoutineInput in : flag_combinations(*routine)) {
        for (auto& [name, value] : in.dims) value = static_cast<std::int64_t>(random(1, 20));
        set_scalars(*routine, in, 0, 3);
        fill(*routine, in);
        for (auto& [name, matrix] : in.matrices) {
          if (name != "c") std::fill(matrix.elements.begin(), matrix.elements.end(), nan);
        }
        ASSERT_NO_FATAL_FAILURE(check(*routine, in, row->check));
      }
    }
  }
}

TEST_P(Level3Test, ALargeProductIsRight) {
  const Descriptor* dgemm = routines::find("dgemm");
  ASSERT_NE(dgemm, nullptr);
  RoutineInput in;
  in.flags = {{"transa", 'T'}, {"transb", 'N'}};
  in.dims = {{"m", 321}, {"n", 257}, {"k", 300}};
  set_scalars(*dgemm, in, 3, 3);
  fill(*dgemm, in);
  check(*dgemm, in, check_gemm);
}

class CallTest : public DeviceTest {
 protected:
  // dgemm of n x n matrices that all lie at the front of one buffer.
  void square(Argument* arguments, BufferId buffer, std::int64_t n) {
    arguments[0].flag = arguments[1].flag = 'N';
    for (const int i : {2, 3, 4}) arguments[i].dim = n;
    arguments[5].scalar = arguments[8].scalar = {1, 0};
    for (const int i : {6, 7, 9}) arguments[i].device = {buffer, 0, n};
  }
  const Descriptor& dgemm() { return *routines::find("dgemm"); }
};

TEST_P(CallTest, OperandsOutsideTheirBuffersAreRefused) {
  const Bytes contents = random_bytes(8 * 10 * 10);
  const BufferId small = allocate(contents);
  const BufferId large = allocate(8 * 20 * 20);
  for (const int operand : {6, 7, 9}) {
    Argument arguments[kMaxArguments];
    square(arguments, large, 10);
    arguments[operand].device = {small, 8, 10};  // one element too far
    EXPECT_EQ(outcome(device().call(queue(), dgemm(), arguments)).code(), Code::invalid_argument);
    arguments[operand].device = {small, 0, 11};
    EXPECT_EQ(outcome(device().call(queue(), dgemm(), arguments)).code(), Code::invalid_argument);
    arguments[operand].device = {small, UINT64_MAX - 7, 10};
    EXPECT_EQ(outcome(device().call(queue(), dgemm(), arguments)).code(), Code::invalid_argument);
    arguments[operand].device = {BufferId{555555}, 0, 10};
    EXPECT_EQ(outcome(device().call(queue(), dgemm(), arguments)).code(), Code::invalid_argument);
  }
  EXPECT_EQ(download(small, contents.size()), contents);
}

TEST_P(CallTest, IllegalArgumentsAreRefused) {
  const BufferId buffer = allocate(8 * 100);
  Argument arguments[kMaxArguments];
  square(arguments, buffer, 10);
  arguments[0].flag = 'X';
  EXPECT_EQ(outcome(device().call(queue(), dgemm(), arguments)).code(), Code::invalid_argument);
  square(arguments, buffer, 10);
  arguments[2].dim = -1;
  EXPECT_EQ(outcome(device().call(queue(), dgemm(), arguments)).code(), Code::invalid_argument);
  square(arguments, buffer, 10);
  arguments[6].device.ld = 9;
  EXPECT_EQ(outcome(device().call(queue(), dgemm(), arguments)).code(), Code::invalid_argument);
}

TEST_P(CallTest, ComputeTimeIsReported) {
  if (!GetParam().computes) GTEST_SKIP() << GetParam().name << " computes nothing";
  const BufferId buffer = allocate(Bytes(3 * 8 * 300 * 300));
  Argument arguments[kMaxArguments];
  square(arguments, buffer, 300);
  arguments[9].device.offset_bytes = 8 * 300 * 300;
  ASSERT_TRUE(device().call(queue(), dgemm(), arguments).ok());
  const QueueReport first = device().synchronize(queue());
  EXPECT_TRUE(first.status.ok()) << first.status.message();
  EXPECT_GT(first.compute_ns, 0u);
  EXPECT_EQ(device().synchronize(queue()).compute_ns, 0u);
}

OB_OVER_ALL_DEVICES(Level3Test);
OB_OVER_ALL_DEVICES(CallTest);

}  // namespace
}  // namespace ob::test
