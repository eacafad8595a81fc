// Random halo plans in all modes, beside values that each rank computes from global coordinates.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "mpi_support.hpp"
#include "support/random.hpp"

namespace ob::overlap::test {
namespace {

constexpr int kRounds = 2;
constexpr int kRuns = 3;

enum class Marks { none, all, checkerboard, random, nothing };

/// The random numbers that all ranks draw alike.
struct Problem {
  std::array<int, 4> grid{1, 1, 1, 1};
  std::array<int, 4> periodic{};
  std::array<std::int64_t, 4> ghost_low{}, ghost_high{}, extents{};
  std::vector<std::array<std::int64_t, 4>> offsets;
  int fields = 1;
  bool fortran = false;
  bool hold = false;
  bool check = false;
  int proxies = 1;
  Marks marks = Marks::none;
  std::uint64_t seed = 0;  ///< of random marks
};

/// The value of a global cell in a run; the low bits tell fields and runs apart.
std::int64_t value(const std::array<std::int64_t, 4>& cell, int field, int run) {
  std::int64_t v = 0;
  for (const std::int64_t i : cell) v = v * 64 + i;
  return (v * 4 + field) * 8 + run;
}

/// Returns true if a global cell is in the mask.
bool is_marked(const Problem& p, const std::array<std::int64_t, 4>& cell) {
  switch (p.marks) {
    case Marks::checkerboard: return std::accumulate(cell.begin(), cell.end(), p.seed) % 2 == 0;
    case Marks::random: {
      std::mt19937_64 bits(p.seed + std::uint64_t(value(cell, 0, 0)));
      return bits() % 3 != 0;
    }
    case Marks::nothing: return false;
    default: return true;
  }
}

template <int dims>
Problem draw(std::mt19937_64& random) {
  Problem p;
  std::vector<int> grid(dims, 0);
  MPI_Dims_create(world_size(), dims, grid.data());
  std::shuffle(grid.begin(), grid.end(), random);
  std::copy(grid.begin(), grid.end(), p.grid.begin());
  for (int d = 0; d < dims; ++d) {
    p.periodic[d] = ::ob::test::uniform(random, 0, 1);
    p.ghost_low[d] = ::ob::test::uniform<std::int64_t>(random, 0, 2);
    p.ghost_high[d] = ::ob::test::uniform<std::int64_t>(random, 0, 2);
    p.extents[d] = ::ob::test::uniform<std::int64_t>(random, 2, dims > 2 ? 4 : 9);
  }
  p.offsets.resize(::ob::test::uniform<std::size_t>(random, 1, 4));
  for (auto& offset : p.offsets)
    for (int d = 0; d < dims; ++d)
      offset[d] = ::ob::test::uniform(random, -p.ghost_low[d], p.ghost_high[d]);
  p.fields = ::ob::test::uniform(random, 1, 2);
  p.fortran = ::ob::test::uniform(random, 0, 1) == 1;
  p.hold = ::ob::test::uniform(random, 0, 1) == 1;
  p.check = ::ob::test::uniform(random, 0, 3) == 0;
  p.marks = Marks(::ob::test::uniform(random, 0, int(Marks::nothing)));
  p.seed = random() % 1000;
  p.proxies = ::ob::test::uniform(random, 1, 3);
  return p;
}

template <int dims>
class Part {
 public:
  using Index = std::array<std::int64_t, dims>;

  Part(const Problem& problem, MPI_Comm cart) : p_(problem) {
    int rank = 0;
    MPI_Comm_rank(cart, &rank);
    MPI_Cart_coords(cart, rank, dims, place_.data());
    std::int64_t step = 1;
    for (int i = 0; i < dims; ++i) {
      const int d = p_.fortran ? i : dims - 1 - i;
      padded_[d] = p_.extents[d] + p_.ghost_low[d] + p_.ghost_high[d];
      strides_[d] = step;
      step *= padded_[d];
    }
    for (auto& cells : cells_) cells.assign(std::size_t(step), -1);
  }

  api::Field<std::int64_t, dims> field(int f) {
    return {cells_[f].data(), padded_, p_.fortran ? strides_ : Index{}};
  }

  api::Mask<dims> mask(const std::vector<std::uint8_t>& marks) const {
    return {marks.data(), padded_, strides_};
  }

  /// Returns the mask, in the order of the fields. Cells outside of the whole grid may have any
  /// mark.
  std::vector<std::uint8_t> marks() {
    std::vector<std::uint8_t> all(cells_[0].size());
    for_each([&](const Index& i, std::int64_t at) {
      all[std::size_t(at)] = !inside(i) ? std::uint8_t(at % 2) : is_marked(p_, global(i)) ? 7 : 0;
    });
    return all;
  }

  /// Sets the own cells of a run, and poisons the ghost cells.
  void fill(int run) {
    for_each([&](const Index& i, std::int64_t at) {
      for (int f = 0; f < p_.fields; ++f) cells_[f][at] = own(i) ? value(global(i), f, run) : -1;
    });
  }

  /// Requires that cells that the stencil reads have arrived, and that no other cell has changed.
  void verify(int run, bool poisoned) {
    for_each([&](const Index& i, std::int64_t at) {
      for (int f = 0; f < p_.fields; ++f) {
        const std::int64_t expected = inside(i) ? value(global(i), f, run) : -1;
        const bool arrived = cells_[f][at] == expected;
        const bool untouched = cells_[f][at] == -1 && !own(i);
        const bool travels = inside(i) && (own(i) || is_marked(p_, global(i)));
        require((arrived && travels) || (untouched && !(travels && is_read(i))),
                "wrong cell in run " + std::to_string(run) + (poisoned ? " (checked)" : ""));
      }
    });
  }

 private:
  template <class Visit>
  void for_each(Visit&& visit) {
    Index i{};
    for (;;) {
      visit(i, std::inner_product(i.begin(), i.end(), strides_.begin(), std::int64_t{0}));
      int d = dims - 1;
      while (d >= 0 && ++i[d] == padded_[d]) i[d--] = 0;
      if (d < 0) return;
    }
  }
  bool own(const Index& i) const {
    for (int d = 0; d < dims; ++d)
      if (i[d] < p_.ghost_low[d] || i[d] >= p_.ghost_low[d] + p_.extents[d]) return false;
    return true;
  }
  std::int64_t unwrapped(const Index& i, int d) const {
    return place_[d] * p_.extents[d] + i[d] - p_.ghost_low[d];
  }
  std::array<std::int64_t, 4> global(const Index& i) const {
    std::array<std::int64_t, 4> cell{};
    for (int d = 0; d < dims; ++d) {
      const std::int64_t whole = p_.grid[d] * p_.extents[d];
      cell[d] = (unwrapped(i, d) + whole) % whole;
    }
    return cell;
  }
  /// Returns true unless the cell is outside of the whole grid.
  bool inside(const Index& i) const {
    for (int d = 0; d < dims; ++d) {
      const std::int64_t g = unwrapped(i, d);
      if (!p_.periodic[d] && (g < 0 || g >= p_.grid[d] * p_.extents[d])) return false;
    }
    return true;
  }
  bool is_read(const Index& i) const {
    return std::any_of(p_.offsets.begin(), p_.offsets.end(),
                       [&](const auto& offset) {
                         Index reader = i;
                         for (int d = 0; d < dims; ++d) reader[d] -= offset[d];
                         return own(reader);
                       }) &&
           inside(i);
  }

  const Problem& p_;
  std::array<int, dims> place_{};
  Index padded_{}, strides_{};
  std::vector<std::int64_t> cells_[2];
};

/// Runs one plan, whole or with sends that leave box by box.
template <int dims>
void run_plan(const Problem& p, api::Runtime& runtime, MPI_Comm cart) {
  Part<dims> part(p, cart);
  api::HaloOptions<dims> options;
  std::copy_n(p.ghost_low.begin(), dims, options.ghost.low.begin());
  std::copy_n(p.ghost_high.begin(), dims, options.ghost.high.begin());
  options.stencil = api::offsets(p.offsets);
  std::vector<std::uint8_t> marks = part.marks();
  if (p.marks != Marks::none) options.mask = part.mask(marks);
  api::HaloPlan<dims> halo =
      p.fields == 1 ? api::HaloPlan<dims>(runtime, cart, {part.field(0)}, options)
                    : api::HaloPlan<dims>(runtime, cart, {part.field(0), part.field(1)}, options);
  std::fill(marks.begin(), marks.end(), std::uint8_t{1});  // it was read before
  halo.commit();
  for (int run = 0; run < kRuns; ++run) {
    part.fill(run);
    api::Iteration iteration = halo.start(p.hold ? api::Sends::when_ready : api::Sends::at_once);
    if (p.hold && run > 0)  // in run 0 wait() lets all go
      for (const auto& box : halo.boundary()) iteration.ready(box);
    iteration.for_tiles(
        halo.interior(), [](const auto&) {}, std::chrono::microseconds(1));
    iteration.wait();
    part.verify(run, p.check);
  }
}

template <int dims>
void run_problem(std::mt19937_64& random) {
  const Problem p = draw<dims>(random);
  MPI_Comm cart = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, dims, p.grid.data(), p.periodic.data(), 0, &cart);
  for (const api::Mode mode : kFixedModes) {
    api::Runtime runtime(MPI_COMM_WORLD, {.mode = mode, .check = p.check, .proxies = p.proxies});
    run_plan<dims>(p, runtime, cart);
  }
  MPI_Comm_free(&cart);
}

}  // namespace

void random_halos() {
  std::uint64_t seed = world_rank() == 0 ? ::ob::test::test_seed() : 0;
  MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  std::mt19937_64 random(seed);
  for (int round = 0; round < kRounds; ++round) {
    run_problem<1>(random);
    run_problem<2>(random);
    run_problem<3>(random);
    run_problem<4>(random);
  }
}

}  // namespace ob::overlap::test
