// A matrix product on a mesh of ranks, with panels that travel while others are multiplied
// (examples/overlap/README.md).
#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "multiply.hpp"
#include "scalapack.hpp"
#include "verify.hpp"

namespace summa {
namespace {

namespace overlap = outboard::overlap;

// The most multiplications of a rank in the element by element check of integers.
constexpr double kMostChecked = 3e9;

constexpr Elements kRealA{1, false}, kRealB{2, false}, kIntegerA{3, true}, kIntegerB{4, true};

/// The operands of one product on this rank.
struct Operands {
  Operands(const Mesh& mesh, const Elements& a_elements, const Elements& b_elements)
      : a(block_of(a_elements, mesh.m[std::size_t(mesh.row)], mesh.local_m(),
                   mesh.k_of_a[std::size_t(mesh.column)], width(mesh.k_of_a, mesh.column))),
        b(block_of(b_elements, mesh.k_of_b[std::size_t(mesh.row)], width(mesh.k_of_b, mesh.row),
                   mesh.n[std::size_t(mesh.column)], mesh.local_n())),
        c(mesh.local_m(), mesh.local_n()) {}
  static std::int64_t width(const Cuts& cuts, int part) {
    return cuts[std::size_t(part) + 1] - cuts[std::size_t(part)];
  }
  Block a, b, c;
};

/// Calls `work` on all ranks and returns the time of the slowest one [s].
template <class Work>
double timed(const Mesh& mesh, Work&& work) {
  MPI_Barrier(mesh.all);
  const double begin = MPI_Wtime();
  work();
  double seconds = MPI_Wtime() - begin;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, mesh.all);
  return seconds;
}

void print_times(const char* name, const Arguments& a, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const double flops = 2 * double(a.m) * double(a.n) * double(a.k);
  std::printf("%-7s best %.3f ms, median %.3f ms of %zu, %.2f Gflop/s at best\n", name,
              times.front() * 1e3, times[times.size() / 2] * 1e3, times.size(),
              flops / times.front() * 1e-9);
}

std::vector<std::int64_t> range(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> indices(std::size_t(end - begin));
  std::iota(indices.begin(), indices.end(), begin);
  return indices;
}

/// Returns true on all ranks if `good` is true on all.
bool everywhere(const Mesh& mesh, bool good) {
  int all = good ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, mesh.all);
  return all == 1;
}

void damage(const Arguments& a, const Mesh& mesh, Block& c) {
  const bool here = mesh.row == mesh.rows / 2 && mesh.column == mesh.columns / 2;
  if (a.damage && here && !c.data.empty()) c.data[c.data.size() / 2] += 1;
}

/// Computes one product and checks it by Freivalds' method.
bool verify(const Arguments& a, const Mesh& mesh, overlap::Runtime& runtime, bool integers) {
  Operands operands(mesh, integers ? kIntegerA : kRealA, integers ? kIntegerB : kRealB);
  Product(a, mesh, runtime, operands.a, operands.b).run(operands.c);
  damage(a, mesh, operands.c);
  const std::string mistake = freivalds(mesh, operands.a, operands.b, operands.c, integers);
  bool good = mistake.empty();
  const double work = double(a.m) * double(a.n) * double(a.k) / (mesh.rows * mesh.columns);
  std::int64_t wrong = 0;
  const bool each = integers && work <= kMostChecked;
  if (each) {
    const auto row = std::size_t(mesh.row), column = std::size_t(mesh.column);
    wrong = wrong_integers(operands.c, range(mesh.m[row], mesh.m[row + 1]),
                           range(mesh.n[column], mesh.n[column + 1]), a.k, kIntegerA, kIntegerB);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, mesh.all);
    good = good && wrong == 0;
  }
  if (mesh.row == 0 && mesh.column == 0) {
    std::printf("%s: Freivalds' check %s%s\n", integers ? "integers" : "reals",
                mistake.empty() ? "holds" : "FAILS: ", mistake.c_str());
    if (each) std::printf("integers: %lld elements are wrong\n", static_cast<long long>(wrong));
  }
  return everywhere(mesh, good);
}

/// Checks pdgemm with integers, so that its time is that of a right result.
bool verify_scalapack(const Arguments& a, const Mesh& mesh) {
  ScalapackProduct product(a, mesh, kIntegerA, kIntegerB);
  product.run();
  std::int64_t wrong =
      wrong_integers(product.c(), product.rows(), product.columns(), a.k, kIntegerA, kIntegerB);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, mesh.all);
  if (mesh.row == 0 && mesh.column == 0)
    std::printf("pdgemm: %lld elements are wrong\n", static_cast<long long>(wrong));
  return wrong == 0;
}

void measure(const Arguments& a, const Mesh& mesh, overlap::Runtime& runtime) {
  Operands operands(mesh, kRealA, kRealB);
  Product product(a, mesh, runtime, operands.a, operands.b);
  std::unique_ptr<ScalapackProduct> scalapack;
  if (a.scalapack) scalapack = std::make_unique<ScalapackProduct>(a, mesh, kRealA, kRealB);
  std::vector<double> times, scalapack_times;
  for (int turn = 0; turn < a.turns; ++turn) {
    times.push_back(timed(mesh, [&] { product.run(operands.c); }));
    if (scalapack) scalapack_times.push_back(timed(mesh, [&] { scalapack->run(); }));
  }
  if (mesh.row != 0 || mesh.column != 0) return;
  std::printf("%lld x %lld x %lld on %d x %d ranks, panels of %lld, look-ahead %d\n",
              static_cast<long long>(a.m), static_cast<long long>(a.n), static_cast<long long>(a.k),
              mesh.rows, mesh.columns, static_cast<long long>(a.panel), a.look_ahead);
  print_times("summa", a, times);
  if (scalapack) print_times("pdgemm", a, scalapack_times);
  if (a.explain) std::fputs(runtime.explain().c_str(), stdout);
}

int run(const Arguments& a) {
  if (a.scalapack && !ScalapackProduct::available())
    throw std::invalid_argument(
        "--scalapack (this program was built without ScaLAPACK) install libscalapack-openmpi-dev "
        "or libscalapack-mpich-dev and build again");
  const Mesh mesh(a);
  overlap::Runtime runtime(mesh.all, a.options);
  measure(a, mesh, runtime);
  bool good = true;
  if (a.verify) good = verify(a, mesh, runtime, false) && verify(a, mesh, runtime, true);
  if (a.verify && a.scalapack) good = verify_scalapack(a, mesh) && good;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace summa

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const summa::Arguments arguments = summa::parse(argc, argv, rank);
  int result = 1;
  try {
    result = summa::run(arguments);
  } catch (const std::invalid_argument& mistake) {  // all ranks have it
    if (rank == 0) std::fprintf(stderr, "example_summa: %s\n", mistake.what());
    result = 2;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "example_summa: rank %d: %s\n", rank, failure.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return result;
}
