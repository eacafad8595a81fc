// Measures the cost of a small call that is forced to be remote: a 64 x 64 dgemm of a program that
// is linked to the system's BLAS, over shared memory and over loopback TCP. The ceiling is the
// native call for shared memory, and the ping-pong of a raw socket for TCP.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/ceilings.hpp"
#include "bench/child_process.hpp"
#include "bench/daemon_process.hpp"
#include "bench/report.hpp"

extern "C" void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*,
                       const double*, const int*, const double*, const int*, const double*, double*,
                       const int*, std::size_t, std::size_t);

namespace {

using ob::bench::Samples;
using Clock = std::chrono::steady_clock;

constexpr int kOrder = 64;
constexpr std::size_t kBytes = sizeof(double) * kOrder * kOrder;  // one operand

// Runs in the child, and measures the median over a few hundred calls, `runs` times.
int measure_here(int runs) {
  std::vector<double> a(kOrder * kOrder, 1.0);
  std::vector<double> b(a);
  std::vector<double> c(a);
  const double one = 1;
  const double zero = 0;
  const auto call = [&] {
    dgemm_("N", "N", &kOrder, &kOrder, &kOrder, &one, a.data(), &kOrder, b.data(), &kOrder, &zero,
           c.data(), &kOrder, 1, 1);
  };
  for (int i = 0; i < 50; ++i) call();
  for (int run = 0; run < runs; ++run) {
    Samples calls;
    for (int i = 0; i < 500; ++i) {
      const auto start = Clock::now();
      call();
      calls.add(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    }
    std::printf("%.3f\n", calls.median());
  }
  return c[0] == kOrder ? 0 : 1;
}

Samples measure_in_child(const std::string& self, int runs,
                         const std::vector<std::string>& environment) {
  ob::bench::ChildProcess child({self, "--child", std::to_string(runs)}, environment);
  Samples samples;
  for (std::string line = child.line(); !line.empty(); line = child.line())
    samples.add(std::atof(line.c_str()));
  return samples;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace ob::bench;
  if (argc == 3 && std::strcmp(argv[1], "--child") == 0) return measure_here(std::atoi(argv[2]));
  const Options options =
      Options::parse_or_exit(argc, argv, "What a small call costs when it is sent out.");
  const std::string self = own_folder() + "/bench_small_calls";
  // The ping-pong carries one operand each way. The call has two operands to send, one to return.
  const Samples socket = raw_tcp_ping_pong(kBytes, options.runs);
  const Samples native = measure_in_child(self, options.runs, {});
  const auto daemon = DaemonProcess::start({});
  if (!daemon.ok()) {
    std::fprintf(stderr, "bench_small_calls: %s\n", daemon.status().message().c_str());
    return 1;
  }
  Report report;
  for (const bool shared : {true, false}) {
    Row row;
    row.bench = "small_calls";
    row.name = std::string("64 x 64 dgemm forced out, ") + (shared ? "shm" : "loopback tcp");
    row.bytes = 3 * kBytes;
    row.unit = "us";
    row.better = Better::smaller;
    row.ceiling_name = shared ? "native call" : "raw socket ping-pong of 32 KiB";
    row.ceiling = shared ? native : socket;
    row.samples =
        measure_in_child(self, options.runs,
                         {std::string("LD_PRELOAD=") + OB_PRELOAD, "OUTBOARD_MODE=remote",
                          "OUTBOARD_SERVER=" + (shared ? (*daemon)->shm() : (*daemon)->tcp())});
    report.add(row);
  }
  report.write(options);
  return 0;
}
