// Gauss-Seidel relaxation of Poisson's equation in red and black, on a cube that is cut in z and y.
// The ghost cells travel while the inner cells are updated (README.md).
#include <cstdio>
#include <cstring>
#include <vector>

#include "arguments.hpp"
#include "grid.hpp"
#include "relaxation.hpp"

namespace redblack3d {
namespace {

namespace overlap = outboard::overlap;

/// Returns the Cartesian communicator of all ranks.
MPI_Comm make_cart(const Arguments& a) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::array<int, 3> sizes = a.geometry;
  MPI_Dims_create(ranks, 3, sizes.data());
  const int periodic[3] = {a.periodic, a.periodic, a.periodic};
  MPI_Comm cart = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 3, sizes.data(), periodic, 0, &cart);
  return cart;
}

/// Returns the cells of rank `rank`; the first ranks of a dimension have one more if need be.
Grid part_of(const Arguments& a, MPI_Comm cart, int rank) {
  int sizes[3], periodic[3], own[3], place[3];
  MPI_Cart_get(cart, 3, sizes, periodic, own);
  MPI_Cart_coords(cart, rank, 3, place);
  Index first{}, extents{};
  for (int d = 0; d < 3; ++d) {
    first[d] = a.n * place[d] / sizes[d];
    extents[d] = a.n * (place[d] + 1) / sizes[d] - first[d];
  }
  return Grid(a.n, first, extents);
}

/// The plans of the exchange: one, or one for each colour.
class Halos {
 public:
  Halos(const Arguments& a, const overlap::Runtime& runtime, MPI_Comm cart, Grid& grid) {
    const overlap::Field<double, 3> u(grid.u.data(), grid.padded);
    if (!a.changed_colour) plans_.emplace_back(runtime, cart, fields{u}, options{.name = "u"});
    for (int colour = 0; a.changed_colour && colour < 2; ++colour) {
      const auto marks = overlap::checkerboard<3>(grid.padded, grid.first, colour);
      plans_.emplace_back(runtime, cart, fields{u},
                          options{.name = colour == 0 ? "red" : "black",
                                  .mask = overlap::Mask<3>(marks.data(), grid.padded)});
    }
    for (overlap::HaloPlan<3>& plan : plans_) plan.commit();
  }

  /// Returns the plan that sends the cells of a colour.
  overlap::HaloPlan<3>& of(int colour) { return plans_[std::size_t(colour) % plans_.size()]; }
  void exchange_all() {
    for (overlap::HaloPlan<3>& plan : plans_) plan.start().wait();
  }

 private:
  using fields = std::initializer_list<ob_overlap_field>;
  using options = overlap::HaloOptions<3>;
  std::vector<overlap::HaloPlan<3>> plans_;
};

/// Updates the rim, and the inner cells while it travels: after the wait there is nothing left to
/// compute. The rim reads ghost cells, so it comes before the start.
void sweep_boundary_first(overlap::HaloPlan<3>& halo, Relaxation& relax, int colour) {
  for (const Box& box : halo.boundary()) relax(colour, box);
  overlap::Iteration run = halo.start();
  run.for_tiles(halo.interior(), [&](const Box& box) { relax(colour, box); });
  run.wait();
}

void iterate(const Arguments& a, Halos& halos, Relaxation& relax) {
  for (int sweep = 0; sweep < 2 * a.iterations; ++sweep) {
    const int colour = sweep % 2;
    if (a.boundary_first) {
      sweep_boundary_first(halos.of(colour), relax, colour);
      continue;
    }
    overlap::HaloPlan<3>& halo = halos.of(1 - colour);  // the update reads the other colour
    overlap::Iteration run = halo.start();
    run.for_tiles(halo.interior(), [&](const Box& box) { relax(colour, box); });
    run.wait();
    for (const Box& box : halo.boundary()) relax(colour, box);
  }
}

/// Times the iterations and prints the means of all ranks on rank 0. The rest of an iteration is
/// the time in the library.
void measure(const Arguments& a, MPI_Comm cart, Halos& halos, Grid& grid) {
  Relaxation relax(grid, a.threads, a.relax_ms);
  halos.exchange_all();  // the ghost cells of the first sweep; MPI connects the ranks, too
  MPI_Barrier(cart);
  const double begin = MPI_Wtime();
  iterate(a, halos, relax);
  double ms[2] = {(MPI_Wtime() - begin) * 1e3 / a.iterations, relax.seconds() * 1e3 / a.iterations};
  MPI_Allreduce(MPI_IN_PLACE, ms, 2, MPI_DOUBLE, MPI_SUM, cart);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(cart, &rank);
  MPI_Comm_size(cart, &ranks);
  if (rank != 0) return;
  std::printf("%lld^3 cells, %d iterations: %.3f ms each\n", static_cast<long long>(a.n),
              a.iterations, ms[0] / ranks);
  std::printf("relaxation %.3f ms, communication %.3f ms\n", ms[1] / ranks,
              (ms[0] - ms[1]) / ranks);
  std::fflush(stdout);
}

/// Copies opposite faces of the whole grid to the ghost cells, as a periodic plan does.
void wrap(Grid& g) {
  const auto [nz, ny, nx] = g.extents;
  for (std::int64_t y = 1; y <= ny; ++y)
    for (std::int64_t x = 1; x <= nx; ++x) {
      g.at(0, y, x) = g.at(nz, y, x);
      g.at(nz + 1, y, x) = g.at(1, y, x);
    }
  for (std::int64_t z = 1; z <= nz; ++z) {
    for (std::int64_t x = 1; x <= nx; ++x) {
      g.at(z, 0, x) = g.at(z, ny, x);
      g.at(z, ny + 1, x) = g.at(z, 1, x);
    }
    for (std::int64_t y = 1; y <= ny; ++y) {
      g.at(z, y, 0) = g.at(z, y, nx);
      g.at(z, y, nx + 1) = g.at(z, y, 1);
    }
  }
}

/// Computes the whole grid here, without the library, and returns the number of cells of `part`
/// that differ in a bit.
std::int64_t differences(const Arguments& a, Grid& part) {
  Grid whole(a.n, {0, 0, 0}, {a.n, a.n, a.n});
  for (int sweep = 0; sweep < 2 * a.iterations; ++sweep) {
    if (a.periodic) wrap(whole);
    relax(whole, sweep % 2, owned(whole));
  }
  std::int64_t different = 0;
  for (std::int64_t z = 1; z <= part.extents[0]; ++z)
    for (std::int64_t y = 1; y <= part.extents[1]; ++y)
      for (std::int64_t x = 1; x <= part.extents[2]; ++x) {
        const double& serial = whole.at(part.first[0] + z, part.first[1] + y, part.first[2] + x);
        different += std::memcmp(&part.at(z, y, x), &serial, sizeof serial) != 0;
      }
  return different;
}

int run(const Arguments& a) {
  MPI_Comm cart = make_cart(a);
  int rank = 0;
  MPI_Comm_rank(cart, &rank);
  std::int64_t different = 0;
  {
    overlap::Runtime runtime(cart, a.options);
    Grid grid = part_of(a, cart, rank);
    Halos halos(a, runtime, cart, grid);
    measure(a, cart, halos, grid);
    if (a.explain && rank == 0) std::fputs(runtime.explain().c_str(), stdout);
    if (a.verify) different = differences(a, grid);
  }
  MPI_Allreduce(MPI_IN_PLACE, &different, 1, MPI_INT64_T, MPI_SUM, cart);
  if (a.verify && rank == 0)
    std::printf("%lld cells differ from the serial program\n", static_cast<long long>(different));
  MPI_Comm_free(&cart);
  return different == 0 ? 0 : 1;
}

}  // namespace
}  // namespace redblack3d

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int result = 1;
  try {
    result = redblack3d::run(redblack3d::parse(argc, argv));
  } catch (const outboard::overlap::Error& error) {
    std::fprintf(stderr, "example_redblack3d: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return result;
}
