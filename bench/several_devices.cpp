// Compares factorizations over several devices with the step model.
//
// The devices compute nothing, at a known rate, and the links are simulated. So the times show how
// well computing, the transfer of panels, and the transfers to and from the host overlap. The
// program prints one line per case: routine, n, devices, block, "chosen" or "tried", bytes of
// received panels by the model and as measured, predicted seconds, then the seconds of each run.
// Without runs
// (--runs 0) the measured bytes are 0. Devices may have too little memory for the matrix, and may
// have different rates.

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "algorithms/exchange/simulated_exchange.hpp"
#include "algorithms/factor/cholesky.hpp"
#include "algorithms/factor/qr.hpp"
#include "algorithms/factor/step_model.hpp"
#include "backend/null/backend.hpp"
#include "bench/command_line.hpp"
#include "bench/or_exit.hpp"
#include "bench/samples.hpp"

namespace {

using namespace ob;
using algorithms::ExchangeModel;
using algorithms::FactorPlan;
using algorithms::FactorShape;
using algorithms::SimulatedExchange;
using bench::or_exit;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string routine = "qr";
  std::uint64_t n = 10240;
  std::vector<double> rates_gflops{1000};
  std::uint64_t memory_mib = 0;
  double gbit = 10;
  double latency_us = 10;
  bool relay = false;
  std::vector<std::size_t> devices{1, 2, 3, 4, 8};
  std::vector<std::uint64_t> blocks;
  int runs = 3;

  double rate_gflops(std::size_t device) const {
    return rates_gflops[device % rates_gflops.size()];
  }
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::unique_ptr<Device> timed_device(double rate_gflops, std::uint64_t memory_bytes) {
  return or_exit(null::create({.memory_bytes = memory_bytes, .rate_gflops = rate_gflops}));
}

// Gives the threads a priority that wakes them up at once when data arrives, even if other programs
// want the cores. The threads hardly compute. False if the user lacks the permission.
bool be_first_in_line() {
  sched_param priority{};
  priority.sched_priority = 1;
  return ::sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
}

// The time of a call beyond its operations. Its cause is a thread that wakes up late.
double call_seconds(const Options& options) {
  const auto device = timed_device(options.rate_gflops(0), std::uint64_t{1} << 32);
  const QueueId queue = or_exit(device->create_queue());
  const double rate = options.rate_gflops(0) * 1e9;
  const auto n = static_cast<std::int64_t>(std::cbrt(2e-3 * rate / 2));  // 2 ms
  const BufferId buffer = or_exit(device->allocate(2 * static_cast<std::uint64_t>(n * n) * 8));
  const Descriptor& gemm = *routines::find(std::string_view("dgemm"));
  Argument a[kMaxArguments];
  a[0].flag = a[1].flag = 'N';
  a[2].dim = a[3].dim = a[4].dim = n;
  a[5].scalar = a[8].scalar = {1, 0};
  a[6].device = a[7].device = {buffer, 0, n};
  a[9].device = {buffer, static_cast<std::uint64_t>(n * n) * 8, n};
  constexpr int kCalls = 10;
  bench::Samples seconds;
  for (int series = 0; series < 9; ++series) {
    const auto start = Clock::now();
    for (int i = 0; i < kCalls; ++i) or_exit(device->call(queue, gemm, a));
    or_exit(device->synchronize(queue).status);
    seconds.add(seconds_since(start) / kCalls);
  }
  return std::max(0.0, seconds.median() - gemm.flops(a) / rate);
}

// The delay with which a waiting thread wakes up.
double late_seconds() {
  bench::Samples late;
  for (int i = 0; i < 100; ++i) {
    const auto until = Clock::now() + std::chrono::milliseconds(1);
    std::this_thread::sleep_until(until);
    late.add(seconds_since(until));
  }
  return late.median();
}

ExchangeModel model_of(const Options& options, std::size_t devices, double call_s, double late_s) {
  ExchangeModel model;
  for (std::size_t i = 0; i < devices; ++i) {
    const double rate = options.rate_gflops(i) * 1e9;
    model.ranks.push_back({rate, rate, call_s, options.memory_mib << 20});
  }
  model.to_bytes_per_s = model.from_bytes_per_s = model.link_bytes_per_s = options.gbit * 1e9 / 8;
  model.message_s = options.latency_us * 1e-6;
  model.handover_s = late_s;
  model.route = options.relay ? algorithms::Route::relay : algorithms::Route::ring;
  return model;
}

struct Seen {
  double seconds = 0;
  double received_bytes = 0;
};

Seen run(const Options& options, const FactorShape& shape, const ExchangeModel& model,
         const FactorPlan& plan) {
  const auto distributed = algorithms::distribute_columns(shape, model.ranks, plan);
  if (!distributed)
    or_exit(Status(Code::out_of_memory, "no slab of one block fits; raise --memory"));
  const algorithms::ColumnDistribution& distribution = *distributed;
  // The devices have exactly the memory that is needed, so none keeps and clears freed memory.
  std::uint64_t columns = 0;
  for (std::size_t at = 0; at < plan.devices; ++at) {
    for (algorithms::SlabIndex slab; slab < distribution.end_slab(); ++slab) {
      columns = std::max(columns, distribution.local_count(algorithms::Rank(at), slab));
    }
  }
  const double needed = factor_memory_bytes(shape, plan.block, shape.rows(), columns);
  const auto memory = static_cast<std::uint64_t>(1.05 * needed) + (1 << 24);
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<Device*> used;
  for (std::size_t i = 0; i < plan.devices; ++i) {
    devices.push_back(timed_device(options.rate_gflops(i), memory));
    used.push_back(devices.back().get());
  }
  const auto exchange = or_exit(SimulatedExchange::create(used, model));
  double nothing = 0;  // the elements are never read
  const HostOperand a{&nothing, static_cast<std::int64_t>(options.n)};
  Seen seen;
  const auto measure = [&](auto&& factorization) {
    const auto start = Clock::now();
    or_exit(factorization.run());
    seen.seconds = seconds_since(start);
  };
  if (options.routine == "qr") {
    measure(algorithms::QrFactorization(*exchange, {Precision::d, options.n, options.n, a},
                                        distribution));
  } else {
    measure(algorithms::CholeskyFactorization(*exchange, {Precision::d, true, options.n, a},
                                              distribution));
  }
  for (std::size_t at = 0; at < plan.devices; ++at) {
    seen.received_bytes += static_cast<double>(exchange->traffic(algorithms::Rank(at)).received);
  }
  return seen;
}

void measure(const Options& options, const FactorShape& shape, const ExchangeModel& model,
             const FactorPlan& plan, bool chosen) {
  const algorithms::FactorTimes predicted = algorithms::simulate_factorization(shape, model, plan);
  std::vector<Seen> seen;
  for (int i = 0; i < options.runs; ++i) seen.push_back(run(options, shape, model, plan));
  std::printf("%s,%llu,%zu,%llu,%s,%.0f,%.0f,%.6f", options.routine.c_str(),
              static_cast<unsigned long long>(options.n), plan.devices,
              static_cast<unsigned long long>(plan.block), chosen ? "chosen" : "tried",
              predicted.received_bytes, seen.empty() ? 0 : seen.front().received_bytes,
              predicted.seconds);
  for (const Seen& one : seen) std::printf(",%.6f", one.seconds);
  std::printf("\n");
  std::fflush(stdout);
}

FactorShape::Kind kind_of(const std::string& routine) {
  if (routine == "lu") return FactorShape::Kind::lu;
  return routine == "qr" ? FactorShape::Kind::qr : FactorShape::Kind::cholesky;
}

void measure_all(const Options& options) {
  const double call_s = call_seconds(options);
  const double late_s = late_seconds();
  std::printf("a call takes %.1f us, a thread wakes up %.1f us late\n", call_s * 1e6, late_s * 1e6);
  const FactorShape shape{kind_of(options.routine), options.n, options.n};
  for (const std::size_t count : options.devices) {
    const ExchangeModel model = model_of(options, count, call_s, late_s);
    const FactorPlan best = algorithms::choose_block(shape, model, count);
    if (best.devices == 0) or_exit(Status(Code::out_of_memory, "nothing fits; raise --memory"));
    const auto plan_for = [&](std::uint64_t block) {
      FactorPlan plan{count, block, 0, best.by_rate};
      plan.seconds = algorithms::simulate_factorization(shape, model, plan).seconds;
      return plan;
    };
    for (const std::uint64_t block : options.blocks) {
      if (block == best.block) continue;
      measure(options, shape, model, plan_for(block), false);
    }
    measure(options, shape, model, best, true);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  ob::bench::CommandLine line("Times factorizations over several devices that exist only in time.");
  line.add("--routine", &options.routine, "qr, cholesky, or lu (the model alone)",
           {.one_of = {"qr", "cholesky", "lu"}});
  line.add("--order", &options.n, "of the matrix");
  line.add("--rate", &options.rates_gflops, "of the devices, in turn [GFLOP/s]");
  line.add("--memory", &options.memory_mib, "of each device [MiB]; 0: as much as it takes");
  line.add("--gbit", &options.gbit, "of each link [Gb/s]");
  line.add("--latency", &options.latency_us, "of each block sent [us]");
  line.add("--relay", &options.relay, "through the client, not from device to device");
  line.add("--devices", &options.devices, "how many, several numbers");
  line.add("--blocks", &options.blocks, "widths to try besides the chosen one");
  line.add("--runs", &options.runs, "of each; 0: the model alone");
  line.parse_or_exit(argc, argv);
  if (options.routine == "lu" && options.runs != 0) {
    or_exit(Status(Code::unsupported, "devices that compute nothing have no pivots; --runs 0"));
  }
  if (!be_first_in_line()) {
    std::fprintf(stderr, "no real-time priority (root has it): other work will be in the way\n");
  }
  measure_all(options);
  return 0;
}
