// Runs that end late or never, and jobs that end early.
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "mpi_support.hpp"

static std::atomic<long> looks{0};

/// Takes the place of the MPI's function, also for the library. MPICH declares it without a
/// visibility.
extern "C" __attribute__((visibility("default"))) int MPI_Testsome(int count,
                                                                   MPI_Request requests[],
                                                                   int* done, int indices[],
                                                                   MPI_Status statuses[]) {
  ++looks;
  return PMPI_Testsome(count, requests, done, indices, statuses);
}

namespace ob::overlap::test {
namespace {

/// A plan in which rank 1 sends to rank 0.
struct Late {
  explicit Late(const api::Runtime& runtime) : plan(runtime, MPI_COMM_WORLD, "late") {
    if (world_rank() == 1) plan.send(field, api::Box<1>{{0}, {kCells}}, 0, 3);
    if (world_rank() == 0) plan.receive(field, api::Box<1>{{0}, {kCells}}, 1, 3);
    plan.commit();
  }
  static constexpr std::int64_t kCells = 1000;
  std::vector<double> cells = std::vector<double>(kCells, double(world_rank()));
  api::Field<double, 1> field{cells.data(), {kCells}};
  api::MovePlan plan;
};

}  // namespace

void patience() {
  for (const api::Mode mode : kFixedModes) {
    std::string report;
    api::Options options{.mode = mode, .patience = std::chrono::seconds(1)};
    options.on_stuck = [](const char* text, void* to) { *static_cast<std::string*>(to) = text; };
    options.context = &report;
    api::Runtime runtime(MPI_COMM_WORLD, options);
    Late late(runtime);
    if (world_rank() == 0) {
      ob_status status = ob_overlap_start(late.plan.get(), 0);  // mode sync waits here
      if (mode != api::Mode::sync) status = ob_overlap_wait(late.plan.get());
      require(status == OB_DEADLINE_EXCEEDED, "the wait had an end before the message");
      require(report.find("rank 0: plan late: nothing from rank 1, 8000 bytes of [0:1000]") !=
                  std::string::npos,
              "report: " + report);
    }
    MPI_Barrier(MPI_COMM_WORLD);  // now rank 1 sends, and the run of rank 0 goes on
    if (world_rank() == 1) late.plan.start().wait();
    if (world_rank() == 0) {
      while (ob_overlap_wait(late.plan.get()) == OB_DEADLINE_EXCEEDED) continue;
      require(late.cells[Late::kCells - 1] == 1, "the message has not arrived");
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

void shared_waits() {
  constexpr int kGo = 9;  // a tag
  constexpr int kNaps = 1000;
  api::Runtime runtime(MPI_COMM_WORLD, {.mode = api::Mode::shared});
  Late late(runtime);
  // The first run is slow. After it, the thread naps long while the program computes. On a busy
  // machine it gets the processor late in one run or another, but not in all.
  long most = 0;
  for (int round = 0; round < 6; ++round) {
    if (world_rank() == 1) {
      MPI_Recv(nullptr, 0, MPI_BYTE, 0, kGo, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      late.plan.start().wait();
    }
    if (world_rank() != 0) continue;
    api::Iteration run = late.plan.start();
    const long before = looks;
    // The clock is a thread whose naps are as long as those of the library's thread are to be.
    std::thread clock([] {
      ::prctl(PR_SET_TIMERSLACK, 1000);
      for (int nap = 0; nap < kNaps; ++nap)
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      MPI_Send(nullptr, 0, MPI_BYTE, 1, kGo, MPI_COMM_WORLD);
    });
    run.wait();
    clock.join();
    if (round > 0) most = std::max(most, looks - before);
  }
  if (world_rank() == 0) {
    require(most > kNaps / 4, std::to_string(most) + " looks in the time of 1000 short naps");
  }
}

void choice_patience() {
  std::string report;
  api::Options options{.patience = std::chrono::seconds(1)};
  options.on_stuck = [](const char* text, void* to) { *static_cast<std::string*>(to) = text; };
  options.context = &report;
  api::Runtime runtime(MPI_COMM_WORLD, options);
  // A plan without messages: only the choice waits.
  api::MovePlan plan(runtime, MPI_COMM_WORLD, "alone");
  plan.commit();
  int rounds = 0;
  ob_status status = OB_OK;
  while (world_rank() == 0 && rounds < 1000) {
    status = ob_overlap_start(plan.get(), 0);
    if (status != OB_OK) break;
    require(ob_overlap_wait(plan.get()) == OB_OK, "wait before the choice");
    ++rounds;
  }
  if (world_rank() == 0) {
    require(status == OB_DEADLINE_EXCEEDED, "the choice had an end without the others");
    require(report.find("plan alone: the choice of the mode waits") != std::string::npos,
            "report: " + report);
  }
  MPI_Bcast(&rounds, 1, MPI_INT, 0, MPI_COMM_WORLD);
  // The others come, and rank 0 goes on with the choice that it has begun.
  for (int i = world_rank() == 0 ? rounds : 0; i <= rounds + 40; ++i) {
    do status = ob_overlap_start(plan.get(), 0);
    while (status == OB_DEADLINE_EXCEEDED);
    require(status == OB_OK, "start after the choice");
    require(ob_overlap_wait(plan.get()) == OB_OK, "wait after the choice");
  }
  require(runtime.explain().find("the fastest of") != std::string::npos, runtime.explain());
}

void stuck() {
  api::Runtime runtime(MPI_COMM_WORLD,
                       {.mode = api::Mode::shared, .patience = std::chrono::seconds(1)});
  Late late(runtime);
  if (world_rank() == 0) late.plan.start().wait();
  MPI_Barrier(MPI_COMM_WORLD);  // which rank 0 never reaches
}

void killed() {
  api::Runtime runtime(MPI_COMM_WORLD, {.mode = api::Mode::shared});
  Late late(runtime);
  if (world_rank() == 1) std::raise(SIGKILL);
  late.plan.start().wait();
  MPI_Barrier(MPI_COMM_WORLD);
}

void finalized() {
  auto* runtime = new api::Runtime(MPI_COMM_WORLD, {.mode = api::Mode::shared});
  MPI_Finalize();
  delete runtime;  // too late, and harmless
  std::exit(0);
}

}  // namespace ob::overlap::test
