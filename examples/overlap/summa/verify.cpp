#include "verify.hpp"

#include <cmath>
#include <limits>

namespace summa {
namespace {

constexpr int kVectors = 3;
constexpr std::uint64_t kRange = 1024;  // an error stays unseen with a probability of 1/1024 each

/// The part of a matrix that begins at (first_row, first_column) of the whole.
struct Placed {
  const Block& block;
  std::int64_t first_row, first_column;
};

/// Returns the whole product of the matrix and a vector on all ranks; with `absolute` that of the
/// absolute values. Collective.
std::vector<double> times(const Mesh& mesh, const Placed& matrix, std::int64_t rows,
                          const std::vector<double>& x, bool absolute) {
  std::vector<double> y(std::size_t(rows), 0);
  const Block& block = matrix.block;
  for (std::int64_t j = 0; j < block.columns; ++j) {
    const double factor = x[std::size_t(matrix.first_column + j)];
    for (std::int64_t i = 0; i < block.rows; ++i) {
      const double element = absolute ? std::abs(block.at(i, j)) : block.at(i, j);
      y[std::size_t(matrix.first_row + i)] += element * factor;
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, y.data(), int(y.size()), MPI_DOUBLE, MPI_SUM, mesh.all);
  return y;
}

std::vector<double> random_vector(std::int64_t size, int number) {
  std::vector<double> x(std::size_t(size), 0);
  const Elements elements{std::uint64_t(number) * 7919 + 17, false};
  for (std::int64_t j = 0; j < size; ++j)
    x[std::size_t(j)] = std::floor((elements(j, 0) + 1) / 2 * double(kRange));
  return x;
}

}  // namespace

std::string freivalds(const Mesh& mesh, const Block& a, const Block& b, const Block& c,
                      bool integers) {
  const std::int64_t m = mesh.m.back(), n = mesh.n.back(), k = mesh.k_of_a.back();
  const std::int64_t m0 = mesh.m[std::size_t(mesh.row)], n0 = mesh.n[std::size_t(mesh.column)];
  const Placed in_a{a, m0, mesh.k_of_a[std::size_t(mesh.column)]};
  const Placed in_b{b, mesh.k_of_b[std::size_t(mesh.row)], n0};
  const Placed in_c{c, m0, n0};
  // Sums of k and of n terms, in C and in the vectors, with one rounding for each (Higham, 2002,
  // 3.1); those of integers are exact below 2^53.
  const double unit = integers ? 0 : 2 * double(k + n) * std::numeric_limits<double>::epsilon();
  for (int v = 0; v < kVectors; ++v) {
    const std::vector<double> x = random_vector(n, v);
    const std::vector<double> expected =
        times(mesh, in_a, m, times(mesh, in_b, k, x, false), false);
    const std::vector<double> bound = times(mesh, in_a, m, times(mesh, in_b, k, x, true), true);
    const std::vector<double> found = times(mesh, in_c, m, x, false);
    for (std::int64_t i = 0; i < m; ++i) {
      const auto at = std::size_t(i);
      // A NaN must fail, too.
      if (std::abs(found[at] - expected[at]) <= unit * bound[at]) continue;
      return "row " + std::to_string(i) + ": C x is " + std::to_string(found[at]) +
             ", A (B x) is " + std::to_string(expected[at]);
    }
  }
  return "";
}

std::int64_t wrong_integers(const Block& c, const std::vector<std::int64_t>& rows,
                            const std::vector<std::int64_t>& columns, std::int64_t k,
                            const Elements& a, const Elements& b) {
  std::vector<int> a_rows(rows.size() * std::size_t(k));
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::int64_t l = 0; l < k; ++l)
      a_rows[i * std::size_t(k) + std::size_t(l)] = int(a(rows[i], l));
  std::int64_t wrong = 0;
  std::vector<int> b_column(std::size_t(k), 0);
  for (std::size_t j = 0; j < columns.size(); ++j) {
    for (std::int64_t l = 0; l < k; ++l) b_column[std::size_t(l)] = int(b(l, columns[j]));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::int64_t sum = 0;
      const int* const row = a_rows.data() + i * std::size_t(k);
      for (std::int64_t l = 0; l < k; ++l) sum += row[l] * b_column[std::size_t(l)];
      wrong += c.at(std::int64_t(i), std::int64_t(j)) != double(sum) ? 1 : 0;
    }
  }
  return wrong;
}

}  // namespace summa
