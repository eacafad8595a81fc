// Move plans, and what commit() and the checks refuse.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "mpi_support.hpp"
#include "support/random.hpp"

namespace ob::overlap::test {
namespace {

using Box2 = api::Box<2>;

/// Two ranks: 0 sends `sent` cells to 1, which expects `received` of them.
struct Pair {
  explicit Pair(const api::Runtime& runtime) : plan(runtime, MPI_COMM_WORLD, "pair") {}
  void describe(std::int64_t sent, std::int64_t received) {
    if (world_rank() == 0) plan.send(field, api::Box<1>{{0}, {sent}}, 1, 7);
    if (world_rank() == 1) plan.receive(field, api::Box<1>{{0}, {received}}, 0, 7);
  }
  std::vector<double> cells = std::vector<double>(100, double(world_rank()));
  api::Field<double, 1> field{cells.data(), {100}};
  api::MovePlan plan;
};

}  // namespace

void random_moves() {
  std::uint64_t seed = world_rank() == 0 ? ::ob::test::test_seed() : 0;
  MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  for (const api::Mode mode : kFixedModes) {
    std::mt19937_64 random(seed);
    const int proxies = ::ob::test::uniform(random, 1, 3);
    api::Runtime runtime(MPI_COMM_WORLD, {.mode = mode, .proxies = proxies});
    // Message t fills layer t of the target with layer t of the source, or moves it within a rank.
    constexpr std::int64_t kMessages = 12, kRow = 500;
    std::vector<double> source(kMessages * kRow), target(kMessages * kRow, -1);
    std::vector<int> from(kMessages, -1);
    const api::Field<double, 2> out(source.data(), {kMessages, kRow});
    const api::Field<double, 2> in(target.data(), {kMessages, kRow});
    api::MovePlan plan(runtime, MPI_COMM_WORLD);
    for (std::int64_t t = 0; t < kMessages; ++t) {
      const Box2 layer{{t, 3}, {t + 1, kRow}};
      const int sender = ::ob::test::uniform(random, 0, world_size() - 1);
      const int receiver = ::ob::test::uniform(random, 0, world_size() - 1);
      if (receiver == world_rank()) from[std::size_t(t)] = sender;
      if (sender == receiver) {
        if (sender == world_rank()) plan.move(out, layer, in, layer);
        continue;
      }
      if (sender == world_rank()) plan.send(out, layer, receiver, int(t));
      if (receiver == world_rank()) plan.receive(in, layer, sender, int(t));
    }
    plan.commit();
    for (int run = 0; run < 3; ++run) {
      for (std::size_t i = 0; i < source.size(); ++i)
        source[i] = double(i) + 1e5 * world_rank() + 1e7 * run;
      plan.start().wait();
      for (std::size_t i = 0; i < target.size(); ++i) {
        const int sender = from[i / kRow];
        const bool filled = sender >= 0 && i % kRow >= 3;
        require(target[i] == (filled ? double(i) + 1e5 * sender + 1e7 * run : -1), "wrong cell");
      }
    }
  }
}

void mismatches() {
  api::Runtime runtime(MPI_COMM_WORLD, {.mode = api::Mode::sync});
  const auto refused = [&](const std::string& text, auto&& describe) {
    Pair pair(runtime);
    describe(pair);
    require_failure(OB_INVALID_ARGUMENT, text, [&] { pair.plan.commit(); });
  };
  refused("32 bytes are sent and 40 received", [](Pair& p) { p.describe(4, 5); });
  refused("sent but not received", [](Pair& p) {
    if (world_rank() == 0) p.plan.send(p.field, api::Box<1>{{0}, {4}}, 1, 7);
  });
  refused("received but not sent", [](Pair& p) {
    if (world_rank() == 1) p.plan.receive(p.field, api::Box<1>{{0}, {4}}, 0, 7);
  });
  refused("rank 99 does not exist", [](Pair& p) {
    if (world_rank() == 1) p.plan.send(p.field, api::Box<1>{{0}, {4}}, 99, 7);
  });
  refused("not inside of the field", [](Pair& p) {  // only rank 0 has the mistake
    if (world_rank() != 0) return;
    require_failure(OB_INVALID_ARGUMENT, "not inside of the field", [&] {
      p.plan.send(p.field, api::Box<1>{{0}, {101}}, 1, 7);
    });
  });
  refused("element size", [](Pair& p) {
    const api::Field<float, 1> floats(reinterpret_cast<float*>(p.cells.data()), {100});
    if (world_rank() == 0) p.plan.send(floats, api::Box<1>{{0}, {8}}, 1, 7);
    if (world_rank() == 1) p.plan.receive(p.field, api::Box<1>{{0}, {4}}, 0, 7);
  });
  Pair pair(runtime);  // the runtime is whole after the failures
  pair.describe(4, 4);
  pair.plan.commit();
  pair.plan.start().wait();
  require(world_rank() != 1 || pair.cells[3] == 0, "the plan after the failures does not run");
}

void masks() {
  const api::Runtime runtime(MPI_COMM_WORLD, {.mode = api::Mode::sync});
  const int ranks = world_size(), wraps = 1;
  MPI_Comm ring = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &wraps, 0, &ring);
  std::vector<double> u(10);
  const api::Field<double, 1> field(u.data(), {10});
  std::vector<std::uint8_t> marks(10, 1);
  const api::HaloOptions<1> options{.ghost = 2, .mask = api::Mask<1>(marks.data(), {10})};
  const auto commit = [&] { api::HaloPlan<1>(runtime, ring, {field}, options).commit(); };
  commit();
  if (world_rank() == 0) marks[8] = 0;  // a ghost cell, whose owner sends it
  require_failure(OB_INVALID_ARGUMENT, "16 bytes are sent and 8 received", commit);
  if (world_rank() == 1) marks[3] = 0;  // its owner sends another cell instead
  require_failure(OB_INVALID_ARGUMENT, "order of dimensions or mask", commit);
  if (world_rank() == 1) marks[3] = 1;
  if (world_rank() == 1) marks[2] = 0;  // the cell that the ghost cell is a copy of
  commit();
  if (world_rank() == 0) marks[9] = 0;
  require_failure(OB_INVALID_ARGUMENT, "sent but not received", commit);
  require_failure(OB_INVALID_ARGUMENT, "a mask of other extents", [&] {
    api::HaloOptions<1> wrong;
    if (world_rank() == 0) wrong.mask = api::Mask<1>(marks.data(), {9});
    api::HaloPlan<1>(runtime, ring, {field}, wrong);
  });
  // Programs that were compiled before there were masks have smaller options.
  ob_overlap_halo_options raw{};
  raw.struct_bytes = offsetof(ob_overlap_halo_options, mask);
  raw.ghost_low[0] = raw.ghost_high[0] = raw.reach = 1;
  const ob_overlap_field fields = field;
  raw.fields = &fields;
  raw.field_count = 1;
  raw.mask = reinterpret_cast<const ob_overlap_field*>(8);  // not a part of such options
  ob_overlap_plan plan = nullptr;
  api::check(ob_overlap_halo(runtime.get(), ring, &raw, &plan));
  api::check(ob_overlap_plan_destroy(plan));
  MPI_Comm_free(&ring);
}

void mode_names() {
  for (int mode = 0; mode <= OB_OVERLAP_PROXY; ++mode)
    require(int(api::mode_named(api::to_string(api::Mode(mode)))) == mode, "another mode");
  require(std::string(api::to_string(api::Mode::ticked)) == "ticked", "another name");
  require(api::to_string(api::Mode(OB_OVERLAP_PROXY + 1)) == nullptr, "a name without a mode");
  require_failure(OB_INVALID_ARGUMENT, "mode fast (unknown) use one of automatic, sync,",
                  [] { api::mode_named("fast"); });
}

void misuse() {
  api::Runtime runtime(MPI_COMM_WORLD, {.mode = api::Mode::shared});
  Pair pair(runtime);
  pair.describe(4, 4);
  require_failure(OB_INVALID_ARGUMENT, "before commit", [&] { pair.plan.start(); });
  pair.plan.commit();
  require_failure(OB_INVALID_ARGUMENT, "committed already", [&] { pair.plan.commit(); });
  {
    const api::Iteration run = pair.plan.start();
    require_failure(OB_INVALID_ARGUMENT, "start twice", [&] { pair.plan.start(); });
  }
  require(ob_overlap_wait(pair.plan.get()) == OB_INVALID_ARGUMENT, "wait without start");
  require(ob_overlap_start(nullptr, 0) == OB_INVALID_ARGUMENT, "a null handle");
  std::vector<double> u(100);
  const api::Field<double, 2> field(u.data(), {10, 10});
  require_failure(OB_INVALID_ARGUMENT, "Cartesian",
                  [&] { api::HaloPlan<2>(runtime, MPI_COMM_WORLD, {field}); });
  require_failure(OB_INVALID_ARGUMENT, "affinity mask",
                  [&] { api::Runtime(MPI_COMM_WORLD, {.mode = api::Mode::proxy, .core = 1000}); });
}

void checks() {
  for (const api::Mode mode : kFixedModes) {
    api::Runtime runtime(MPI_COMM_WORLD, {.mode = mode, .check = true});
    Pair pair(runtime);
    pair.describe(4, 4);
    pair.plan.commit();
    pair.plan.start().wait();
    require(world_rank() != 1 || pair.cells[0] == 0, "nothing arrived");

    api::Iteration run = pair.plan.start();
    require(world_rank() != 1 || std::isnan(pair.cells[0]), "read too early, and no NaN");
    pair.cells[2] = 5;
    if (world_rank() > 1)
      run.wait();
    else
      require_failure(OB_INVALID_ARGUMENT,
                      world_rank() == 0 ? "rank 0 wrote to [0:4] while it was being sent to rank 1"
                                        : "rank 1 wrote to [0:4] while it was being received",
                      [&] { run.wait(); });
    pair.plan.start().wait();
  }
}

/// In a line of ranks, each inner one has two neighbours: they belong to different proxies.
void proxies() {
  api::Runtime runtime(MPI_COMM_WORLD, {.mode = api::Mode::shared, .proxies = 2});
  const int size = 4, periodic = 0;
  MPI_Comm line = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &line);
  std::vector<double> cells(10, world_rank());
  api::HaloPlan<1> halo(runtime, line, {api::Field<double, 1>(cells.data(), {10})});
  halo.commit();
  halo.start().wait();
  const int before = std::max(0, world_rank() - 1), after = std::min(size - 1, world_rank() + 1);
  require(cells.front() == before && cells.back() == after, "wrong ghost cells");
  const std::string text = runtime.explain();
  const bool inner = world_rank() == 1 || world_rank() == 2;
  require(text.find("proxy 2 of 2: napping on a shared core") != std::string::npos, text);
  require(!inner || text.find("in parts for the proxies: 2, 2;") != std::string::npos, text);
  MPI_Comm_free(&line);

  require_failure(OB_INVALID_ARGUMENT, "65 proxies (1 to 64 are possible)",
                  [] { api::Runtime(MPI_COMM_WORLD, {.proxies = 65}); });
  require_failure(OB_INVALID_ARGUMENT, "the number of proxies", [] {
    api::Runtime(MPI_COMM_WORLD, {.mode = api::Mode::sync, .proxies = 1 + world_rank() % 2});
  });
  // Programs that were compiled before there were several proxies have smaller options.
  ob_overlap_options raw{};
  raw.struct_bytes = offsetof(ob_overlap_options, proxies);
  raw.core = -1;
  raw.proxies = 65;  // not a part of such options
  ob_overlap_runtime former = nullptr;
  api::check(ob_overlap_attach(MPI_COMM_WORLD, &raw, &former));
  api::check(ob_overlap_detach(former));
}

void funneled() {
  require_failure(OB_UNSUPPORTED, "MPI_THREAD_FUNNELED",
                  [] { api::Runtime(MPI_COMM_WORLD, {.mode = api::Mode::proxy}); });
  require_failure(OB_UNSUPPORTED, "2 proxies (MPI provides MPI_THREAD_FUNNELED, and they call MPI",
                  [] { api::Runtime(MPI_COMM_WORLD, {.mode = api::Mode::sync, .proxies = 2}); });
  for (const api::Mode mode : {api::Mode::ticked, api::Mode::automatic}) {
    api::Runtime runtime(MPI_COMM_WORLD, {.mode = mode});
    Pair pair(runtime);
    pair.describe(100, 100);
    pair.plan.commit();
    for (int run = 0; run < 40; ++run) {  // past the trials
      api::Iteration iteration = pair.plan.start();
      runtime.tick();
      iteration.wait();
    }
    require(runtime.explain().find("MPI_THREAD_FUNNELED") != std::string::npos, "explain");
    const bool chosen = runtime.explain().find("the fastest of") != std::string::npos;
    require(chosen == (mode == api::Mode::automatic), "explain tells no choice");
  }
}

}  // namespace ob::overlap::test
