// BLAS level 2: unpacks every storage into a full matrix and applies the definition to it. The
// names show the kind of matrix: ge, sy, he, tr full, gb, sb, hb, tb band, sp, hp, tp packed.

#include <algorithm>
#include <limits>

#include "conformance/device/blas_expected.hpp"
#include "conformance/device/storage.hpp"

namespace ob::test {
namespace {

constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();

bool is_packed(const Descriptor& routine) { return routine.base[1] == 'p'; }
bool is_band(const Descriptor& routine) { return routine.base[1] == 'b'; }
const char* matrix_name(const Descriptor& routine) { return is_packed(routine) ? "ap" : "a"; }

// Returns the storage of the matrix. A full matrix gets a band of all diagonals, which is not used.
Storage storage_of(const Descriptor& routine, const RoutineInput& in) {
  const std::uint64_t n = in.dim("n");
  if (routine.base == "gbmv") return Storage::band(in.dim("m"), n, in.dim("kl"), in.dim("ku"));
  const char uplo = in.flag("uplo");
  return is_packed(routine) ? Storage::packed(uplo, n) : Storage::half_band(uplo, n, in.dim("k"));
}

Dense pack(const Descriptor& routine, const RoutineInput& in, const Dense& a) {
  const bool full = !is_packed(routine) && !is_band(routine);
  return full ? a : storage_of(routine, in).pack(a);
}

Dense unpack(const Descriptor& routine, const RoutineInput& in, const Dense& stored) {
  const bool full = !is_packed(routine) && !is_band(routine);
  return full ? stored : storage_of(routine, in).unpack(stored);
}

// Returns the matrix that the stored elements represent.
Dense meant(const Descriptor& routine, const RoutineInput& in, const Dense& a) {
  const Dense stored = unpack(routine, in, pack(routine, in, a));  // a band has zeros elsewhere
  switch (routine.base[0]) {
    case 's': return symmetric(in.flag("uplo"), stored);
    case 'h': return hermitian(in.flag("uplo"), stored);
    case 't': return triangular(in.flag("uplo"), in.flag("diag"), stored);
    default: return stored;
  }
}

std::uint64_t rows_of(const RoutineInput& in) {
  return in.dims.count("m") != 0 ? in.dim("m") : in.dim("n");
}

template <class Check>
void over_inputs(RoutineTest& test, const Descriptor& routine, const Check& check) {
  for (RoutineInput in : test.flag_combinations(routine)) {
    for (std::uint64_t choice = 0; choice < 16; ++choice) {
      set_sizes(test, in, choice == 15 ? 40 : 9);
      set_scalars(test, routine, in, choice % 4, choice / 4);
      check(in);
    }
  }
}

// y := alpha op(A) x + beta y
void check_product(RoutineTest& test, const Descriptor& routine) {
  over_inputs(test, routine, [&](RoutineInput& in) {
    Dense a = test.random_matrix(routine.precision, rows_of(in), in.dim("n"));
    const Dense right =
        op(in.flags.count("trans") != 0 ? in.flag("trans") : 'N', meant(routine, in, a));
    // The diagonal of a Hermitian matrix is real; its stored imaginary parts are ignored.
    for (std::uint64_t i = 0; routine.base[0] == 'h' && i < a.rows; ++i) a(i, i).imag(kNan);
    in.matrices["a"] = in.matrices["ap"] = pack(routine, in, a);
    Dense& x = in.matrices["x"] = test.random_matrix(routine.precision, right.cols, 1);
    in.matrices["y"] = test.random_matrix(routine.precision, right.rows, 1);
    if (is_zero(in.scalars.at("alpha"))) {
      in.matrices["a"] = in.matrices["ap"] = poison(in.matrices["a"]);
      x = poison(x);
    }
    const RoutineOutput out = test.call(routine, in);
    if (right.rows == 0 || right.cols == 0) {  // the reference returns before it reads beta
      const bool same = out.matrix("y").elements == in.matrices["y"].elements;
      test.require(same || is_zero(in.scalars.at("beta")),
                   "y changed although there is no product");
      return;
    }
    expect(test, routine, product(in, out.matrix("y"), right, x, in.matrices["y"]));
  });
}

// Returns a triangular op(A); solutions with it have moderate size.
Dense make_triangle(RoutineTest& test, const Descriptor& routine, RoutineInput& in) {
  Dense a = random_triangle(test, in.flag("uplo"), routine.precision, in.dim("n"));
  const Dense right = op(in.flag("trans"), meant(routine, in, a));
  for (std::uint64_t i = 0; in.flag("diag") == 'U' && i < a.rows; ++i) a(i, i) = {kNan, kNan};
  in.matrices["a"] = in.matrices["ap"] = pack(routine, in, a);
  return right;
}

void check_triangular_product(RoutineTest& test, const Descriptor& routine) {
  over_inputs(test, routine, [&](RoutineInput& in) {
    const Dense a = make_triangle(test, routine, in);
    const Dense& x = in.matrices["x"] = test.random_matrix(routine.precision, a.rows, 1);
    const RoutineOutput out = test.call(routine, in);
    expect(test, routine, {out.matrix("x") - a * x, terms(a.rows) * (abs(a) * abs(x))});
  });
}

void check_triangular_solve(RoutineTest& test, const Descriptor& routine) {
  over_inputs(test, routine, [&](RoutineInput& in) {
    const Dense a = make_triangle(test, routine, in);
    const Dense& b = in.matrices["x"] = test.random_matrix(routine.precision, a.rows, 1);
    const RoutineOutput out = test.call(routine, in);
    expect(test, routine, residual(a, true, out.matrix("x"), b));
  });
}

// The matrix that is added to A, and the sizes of its terms.
struct Update {
  Dense sum;
  Dense size;
};

Update outer(Wide alpha, const Dense& x, char trans, const Dense& y) {
  return {alpha * (x * op(trans, y)), Wide(std::abs(alpha)) * (abs(x) * op('T', abs(y)))};
}

Update update_of(const Descriptor& routine, const RoutineInput& in) {
  const Wide alpha = scalar_of(in, "alpha");
  const Dense& x = in.matrices.at("x");
  const char trans = routine.base[0] == 'h' || routine.base == "gerc" ? 'C' : 'T';
  if (in.matrices.count("y") == 0) return outer(alpha, x, trans, x);
  const Dense& y = in.matrices.at("y");
  Update update = outer(alpha, x, trans, y);
  if (routine.base[0] == 'g') return update;
  const Update other = outer(trans == 'C' ? std::conj(alpha) : alpha, y, trans, x);
  return {update.sum + other.sum, update.size + other.size};
}

void check_update(RoutineTest& test, const Descriptor& routine) {
  const bool has_y = std::count(routine.argument_names.begin(), routine.argument_names.end(), "y");
  over_inputs(test, routine, [&](RoutineInput& in) {
    const bool nothing = is_zero(in.scalars.at("alpha"));
    Dense a = test.random_matrix(routine.precision, rows_of(in), in.dim("n"));
    in.matrices["a"] = in.matrices["ap"] = pack(routine, in, a);
    // A Hermitian diagonal is real, unless the call does nothing: its imaginary parts are ignored.
    for (std::uint64_t i = 0; routine.base[0] == 'h' && !nothing && i < a.rows; ++i) {
      a(i, i) = a(i, i).real();
    }
    in.matrices["x"] = test.random_matrix(routine.precision, a.rows, 1);
    if (has_y) in.matrices["y"] = test.random_matrix(routine.precision, a.cols, 1);
    const Update update = update_of(routine, in);
    RoutineInput given = in;
    if (nothing) {
      given.matrices["x"] = poison(in.matrices["x"]);
      given.matrices["y"] = poison(given.matrices["y"]);
    }
    const RoutineOutput out = test.call(routine, given);
    const Dense result = unpack(routine, in, out.matrix(matrix_name(routine)));
    const bool whole = in.flags.count("uplo") == 0;
    expect(test, routine, {result - (a + update.sum), terms(1) * (abs(a) + update.size)},
           whole ? Triangle::full : triangle_of(in.flag("uplo")));
  });
}

constexpr Oracle kOracles[] = {
    {"gemv", check_product},
    {"gbmv", check_product},
    {"symv", check_product},
    {"sbmv", check_product},
    {"spmv", check_product},
    {"hemv", check_product},
    {"hbmv", check_product},
    {"hpmv", check_product},
    {"trmv", check_triangular_product},
    {"tbmv", check_triangular_product},
    {"tpmv", check_triangular_product},
    {"trsv", check_triangular_solve},
    {"tbsv", check_triangular_solve},
    {"tpsv", check_triangular_solve},
    {"ger", check_update},
    {"geru", check_update},
    {"gerc", check_update},
    {"syr", check_update},
    {"spr", check_update},
    {"syr2", check_update},
    {"spr2", check_update},
    {"her", check_update},
    {"hpr", check_update},
    {"her2", check_update},
    {"hpr2", check_update},
};

}  // namespace

Oracles level2_oracles() { return kOracles; }

}  // namespace ob::test
