// Super-instructions of linear algebra, on whole static arrays or blocks.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "sial/builtins/arguments.hpp"
#include "sial/builtins/builtins.hpp"
#include "sial/operations/gemm.hpp"

namespace ob::sial {
namespace {

using MatrixFunction = Status (*)(Lapack&, Arguments);

SuperFunction with_lapack(const std::shared_ptr<Lapack>& lapack, MatrixFunction function) {
  return [lapack, function](CallContext&, Arguments arguments) -> Status {
    if (lapack == nullptr) {
      return {Code::unavailable,
              "this machine has no LAPACK library; install the Debian package "
              "libopenblas0-pthread, or name a library in OUTBOARD_BLAS"};
    }
    return function(*lapack, arguments);
  };
}

Result<View> square_argument(Arguments arguments, std::size_t number) {
  OB_ASSIGN_OR_RETURN(const View view, block_of_rank(arguments, number, 2));
  if (view.extents[0] != view.extents[1]) {
    return Status(Code::invalid_argument,
                  "argument " + std::to_string(number + 1) + " is " +
                      std::to_string(view.extents[0]) + " x " + std::to_string(view.extents[1]) +
                      " (the matrix must be square); pass an array with equal ranges");
  }
  return view;
}

Status check_extent(Arguments arguments, std::size_t number, unsigned dimension,
                    std::int64_t wanted) {
  const std::int64_t extent = arguments[number].view.extents[dimension];
  if (extent == wanted) return {};
  return {Code::invalid_argument, "argument " + std::to_string(number + 1) + " has the extent " +
                                      std::to_string(extent) + " in dimension " +
                                      std::to_string(dimension + 1) + " (it must be " +
                                      std::to_string(wanted) + "); pass an array that fits"};
}

Result<View> vector_argument(Arguments arguments, std::size_t number, std::int64_t length) {
  OB_ASSIGN_OR_RETURN(const View view, block_of_rank(arguments, number, 1));
  OB_RETURN_IF_ERROR(check_extent(arguments, number, 0, length));
  return view;
}

Status solve_eigen(Lapack& lapack, Arguments arguments) {
  OB_ASSIGN_OR_RETURN(const View a, square_argument(arguments, 0));
  const std::int64_t n = a.extents[0];
  OB_ASSIGN_OR_RETURN(const View w, vector_argument(arguments, 1, n));
  std::vector<double> matrix = elements_of(a);
  std::vector<double> values(static_cast<std::size_t>(n));
  OB_RETURN_IF_ERROR(lapack.eigen(n, matrix.data(), values.data()));
  store_elements(a, matrix);
  store_elements(w, values);
  return {};
}

Status solve_eigen_generalized(Lapack& lapack, Arguments arguments) {
  OB_ASSIGN_OR_RETURN(const View a, square_argument(arguments, 0));
  OB_ASSIGN_OR_RETURN(const View b, square_argument(arguments, 1));
  const std::int64_t n = a.extents[0];
  OB_RETURN_IF_ERROR(check_same_extents(a, b));
  OB_ASSIGN_OR_RETURN(const View w, vector_argument(arguments, 2, n));
  std::vector<double> matrix = elements_of(a);
  std::vector<double> metric = elements_of(b);
  std::vector<double> values(static_cast<std::size_t>(n));
  OB_RETURN_IF_ERROR(lapack.eigen_generalized(n, matrix.data(), metric.data(), values.data()));
  store_elements(a, matrix);
  store_elements(b, metric);
  for_each_element(b, [](const auto& at, double& element) {
    if (at[0] < at[1]) element = 0;
  });
  store_elements(w, values);
  return {};
}

// X = V diag(w)^(-1/2) V' where S = V diag(w) V'.
Status take_inverse_sqrt(Lapack& lapack, Arguments arguments) {
  OB_ASSIGN_OR_RETURN(const View x, square_argument(arguments, 0));
  OB_ASSIGN_OR_RETURN(const View s, square_argument(arguments, 1));
  OB_RETURN_IF_ERROR(check_same_extents(x, s));
  const std::int64_t n = s.extents[0];
  std::vector<double> vectors = elements_of(s);
  std::vector<double> values(static_cast<std::size_t>(n));
  OB_RETURN_IF_ERROR(lapack.eigen(n, vectors.data(), values.data()));
  const double least =
      values.back() * static_cast<double>(n) * std::numeric_limits<double>::epsilon();
  if (!(values.front() > least)) {
    return {Code::invalid_argument,
            "the matrix is not positive definite (its smallest eigenvalue is " +
                std::to_string(values.front()) + "); check that it is an overlap matrix"};
  }
  std::vector<double> scaled = vectors;
  for (std::int64_t j = 0; j < n; ++j) {
    const double factor = 1 / std::sqrt(values[static_cast<std::size_t>(j)]);
    const auto column = scaled.begin() + j * n;
    std::transform(column, column + n, column, [factor](double v) { return v * factor; });
  }
  std::vector<double> root(vectors.size());
  LoopGemm().run('N', 'T', n, n, n, 1, scaled.data(), n, vectors.data(), n, 0, root.data(), n);
  store_elements(x, root);
  return {};
}

Status solve_system(Lapack& lapack, Arguments arguments) {
  OB_ASSIGN_OR_RETURN(const View a, square_argument(arguments, 0));
  OB_ASSIGN_OR_RETURN(const View b, block_argument(arguments, 1));
  const std::int64_t n = a.extents[0];
  if (b.rank == 0 || b.rank > 2) {
    return {Code::invalid_argument,
            "argument 2 has the rank " + std::to_string(b.rank) +
                " (it is the right sides, a vector or a matrix); pass an array of rank 1 or 2"};
  }
  OB_RETURN_IF_ERROR(check_extent(arguments, 1, 0, n));
  std::vector<double> matrix = elements_of(a);
  std::vector<double> sides = elements_of(b);
  OB_RETURN_IF_ERROR(lapack.solve(n, b.elements() / n, matrix.data(), sides.data()));
  store_elements(b, sides);
  return {};
}

Status factor_cholesky(Lapack& lapack, Arguments arguments) {
  OB_ASSIGN_OR_RETURN(const View a, square_argument(arguments, 0));
  std::vector<double> matrix = elements_of(a);
  OB_RETURN_IF_ERROR(lapack.cholesky(a.extents[0], matrix.data()));
  store_elements(a, matrix);
  for_each_element(a, [](const auto& at, double& element) {
    if (at[0] < at[1]) element = 0;
  });
  return {};
}

Status decompose_svd(Lapack& lapack, Arguments arguments) {
  OB_ASSIGN_OR_RETURN(const View a, block_of_rank(arguments, 0, 2));
  const std::int64_t m = a.extents[0];
  const std::int64_t n = a.extents[1];
  const std::int64_t k = std::min(m, n);
  OB_ASSIGN_OR_RETURN(const View u, block_of_rank(arguments, 1, 2));
  OB_ASSIGN_OR_RETURN(const View s, vector_argument(arguments, 2, k));
  OB_ASSIGN_OR_RETURN(const View vt, block_of_rank(arguments, 3, 2));
  OB_RETURN_IF_ERROR(check_extent(arguments, 1, 0, m));
  OB_RETURN_IF_ERROR(check_extent(arguments, 1, 1, k));
  OB_RETURN_IF_ERROR(check_extent(arguments, 3, 0, k));
  OB_RETURN_IF_ERROR(check_extent(arguments, 3, 1, n));
  std::vector<double> matrix = elements_of(a);
  std::vector<double> left(static_cast<std::size_t>(m * k));
  std::vector<double> values(static_cast<std::size_t>(k));
  std::vector<double> right(static_cast<std::size_t>(k * n));
  OB_RETURN_IF_ERROR(lapack.svd(m, n, matrix.data(), values.data(), left.data(), right.data()));
  store_elements(a, matrix);
  store_elements(u, left);
  store_elements(s, values);
  store_elements(vt, right);
  return {};
}

}  // namespace

void add_matrix_functions(SuperFunctions& functions, const std::shared_ptr<Lapack>& lapack) {
  functions["eigen_symmetric"] = {"uw", with_lapack(lapack, solve_eigen)};
  functions["eigen_generalized"] = {"uuw", with_lapack(lapack, solve_eigen_generalized)};
  functions["inverse_sqrt"] = {"ur", with_lapack(lapack, take_inverse_sqrt)};
  functions["solve"] = {"ru", with_lapack(lapack, solve_system)};
  functions["cholesky"] = {"u", with_lapack(lapack, factor_cholesky)};
  functions["svd"] = {"uwww", with_lapack(lapack, decompose_svd)};
}

}  // namespace ob::sial
