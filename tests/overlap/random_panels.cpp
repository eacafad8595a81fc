// Random panel plans in all modes, beside MPI_Bcast.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "mpi_support.hpp"
#include "support/random.hpp"

namespace ob::overlap::test {
namespace {

using ::ob::test::uniform;

constexpr int kPanelRounds = 2;
constexpr int kSweeps = 3;
constexpr std::int64_t kOutside = -77;

/// One panel as all ranks draw it alike. The owner has it inside of a larger array.
struct Shape {
  int owner = 0;
  std::array<std::int64_t, 2> extents{};
  std::int64_t gap = 0;  ///< between lines of the owner's array
  bool fortran = false;  ///< the first dimension is contiguous

  std::size_t cells() const { return std::size_t(extents[0] * extents[1]); }
  /// Returns the strides of a packed panel with `more` elements behind each line.
  std::array<std::int64_t, 2> strides(std::int64_t more) const {
    if (fortran) return {1, std::max<std::int64_t>(1, extents[0] + more)};
    return {std::max<std::int64_t>(1, extents[1] + more), 1};
  }
};

struct PanelProblem {
  int columns = 1;  ///< of the mesh
  bool by_rows = true;
  int look_ahead = 0;
  api::Broadcast broadcast = api::Broadcast::automatic;
  bool check = false;
  int proxies = 1;
  std::vector<Shape> panels;
};

PanelProblem draw_panels(std::mt19937_64& random) {
  PanelProblem p;
  do p.columns = uniform(random, 1, world_size());
  while (world_size() % p.columns != 0);
  p.by_rows = uniform(random, 0, 1) == 1;
  p.look_ahead = uniform(random, 0, 3);
  p.broadcast = api::Broadcast(uniform(random, 0, 2));
  p.check = uniform(random, 0, 3) == 0;
  p.proxies = uniform(random, 1, 3);
  const int group = p.by_rows ? p.columns : world_size() / p.columns;
  p.panels.resize(std::size_t(uniform(random, 1, 9)));
  for (Shape& shape : p.panels) {
    shape.owner = uniform(random, 0, group - 1);
    // One in four is large enough for a ring of several pieces.
    const std::int64_t most = uniform(random, 0, 3) == 0 ? 300 : 12;
    shape.extents = {uniform<std::int64_t>(random, 0, most),
                     uniform<std::int64_t>(random, 0, most)};
    shape.gap = uniform<std::int64_t>(random, 0, 2);
    shape.fortran = uniform(random, 0, 1) == 1;
  }
  return p;
}

/// The elements of one panel on its owner, and what each rank expects.
class Elements {
 public:
  Elements(const Shape& shape, MPI_Comm group) : shape_(shape), group_(group) {
    int rank = 0;
    MPI_Comm_rank(group, &rank);
    here_ = rank == shape.owner;
    const auto strides = shape.strides(shape.gap);
    if (here_) array_.assign(std::size_t(strides[0] * strides[1]) * 400, kOutside);
    expected_.resize(shape.cells());
  }

  api::Field<std::int64_t, 2> field() {
    return {here_ ? array_.data() : nullptr, shape_.extents,
            shape_.strides(here_ ? shape_.gap : 0)};
  }

  /// Draws new elements and sends them with MPI_Bcast. Collective over the group.
  void fill(std::mt19937_64& own) {
    if (here_) {
      const auto from = shape_.strides(shape_.gap), packed = shape_.strides(0);
      for (std::int64_t i = 0; i < shape_.extents[0]; ++i)
        for (std::int64_t j = 0; j < shape_.extents[1]; ++j) {
          const auto value = std::int64_t(own());
          array_[std::size_t(i * from[0] + j * from[1])] = value;
          expected_[std::size_t(i * packed[0] + j * packed[1])] = value;
        }
    }
    MPI_Bcast(expected_.data(), int(expected_.size()), MPI_INT64_T, shape_.owner, group_);
  }

  bool equals(const std::int64_t* panel) const {
    return expected_.empty() ||
           std::memcmp(panel, expected_.data(), expected_.size() * sizeof *panel) == 0;
  }

 private:
  const Shape& shape_;
  MPI_Comm group_;
  bool here_ = false;
  std::vector<std::int64_t> array_;
  std::vector<std::int64_t> expected_;
};

/// Starts and waits in an order that is this rank's own, as far ahead as the plan permits, and
/// compares all panels that are in use after each step.
void sweep(const PanelProblem& p, api::Runtime& runtime, api::PanelPlan<std::int64_t>& plan,
           const std::vector<Elements>& elements, std::mt19937_64& own) {
  const auto count = std::int64_t(p.panels.size());
  std::int64_t started = 0;
  std::int64_t waited = 0;
  while (waited < count) {
    const bool can_start = started < count && started - waited <= p.look_ahead;
    if (can_start && (started == waited || uniform(own, 0, 2) > 0))
      plan.start(started++);
    else
      plan.wait(waited++);
    runtime.tick();
    for (std::int64_t k = std::max<std::int64_t>(0, started - 1 - p.look_ahead); k < waited; ++k)
      require(elements[std::size_t(k)].equals(plan[k]), "panel " + std::to_string(k) + " is wrong");
  }
}

void run_panels(const PanelProblem& p, std::mt19937_64& own) {
  MPI_Comm group = MPI_COMM_NULL;
  const int row = world_rank() / p.columns, column = world_rank() % p.columns;
  MPI_Comm_split(MPI_COMM_WORLD, p.by_rows ? row : column, world_rank(), &group);
  std::vector<Elements> elements;
  for (const Shape& shape : p.panels) elements.emplace_back(shape, group);
  for (int m = 0; m < 6; ++m) {
    const auto mode = api::Mode(m);
    // Enough panels to come past the trials of all modes.
    const int sweeps = mode == api::Mode::automatic ? 70 / int(p.panels.size()) + 1 : kSweeps;
    api::Runtime runtime(MPI_COMM_WORLD, {.mode = mode, .check = p.check, .proxies = p.proxies});
    api::PanelPlan<std::int64_t> plan(
        runtime, group, {.look_ahead = p.look_ahead, .broadcast = p.broadcast, .name = "random"});
    for (std::size_t k = 0; k < p.panels.size(); ++k)
      plan.add(p.panels[k].owner, elements[k].field());
    plan.commit();
    for (int i = 0; i < sweeps; ++i) {
      for (Elements& e : elements) e.fill(own);
      sweep(p, runtime, plan, elements, own);
    }
    if (mode == api::Mode::automatic)
      require(runtime.explain().find("the fastest of") != std::string::npos, "no mode was chosen");
  }
  MPI_Comm_free(&group);
}

}  // namespace

void random_panels() {
  std::uint64_t seed = world_rank() == 0 ? ::ob::test::test_seed() : 0;
  MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  std::mt19937_64 random(seed);
  std::mt19937_64 own(seed + 1 + std::uint64_t(world_rank()));
  for (int round = 0; round < kPanelRounds; ++round) run_panels(draw_panels(random), own);
}

}  // namespace ob::overlap::test
