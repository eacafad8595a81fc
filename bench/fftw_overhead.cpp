// Measures the time that the drop-in library adds to fftw_execute of plans that stay local. The
// program runs itself once per mode with the library preloaded. Each run times, in turn, the entry
// that the program is bound to and, as the ceiling, the native function behind it.

#include <dlfcn.h>
#include <fftw3.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "bench/report.hpp"

namespace ob::bench {
namespace {

using Execute = void (*)(fftw_plan);

constexpr const char* kChild = "OB_FFTW_OVERHEAD_CHILD";  // holds the number of runs
constexpr const char* kModes[] = {"off", "auto", "trace"};

double ns_per_call(Execute execute, fftw_plan plan, int calls) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) execute(plan);
  const std::chrono::duration<double, std::nano> passed = std::chrono::steady_clock::now() - start;
  return passed.count() / calls;
}

// Prints pairs "entry native" in ns.
int child(int runs) {
  fftw_complex in[2] = {{1, 2}, {3, 4}};
  fftw_complex out[2];
  fftw_plan plan = fftw_plan_dft_1d(2, in, out, FFTW_FORWARD, FFTW_ESTIMATE);
  void* library = dlopen("libfftw3.so.3", RTLD_LAZY | RTLD_NOLOAD);
  const auto native =
      reinterpret_cast<Execute>(library == nullptr ? nullptr : dlsym(library, "fftw_execute"));
  if (plan == nullptr || native == nullptr || native == &fftw_execute) {
    std::fprintf(stderr,
                 "bench_fftw_overhead: nothing to compare (fftw_execute is not taken over) "
                 "preload liboutboard-preload.so\n");
    return 1;
  }
  const int calls = runs == 1 ? 1000 : 1000000;
  ns_per_call(&fftw_execute, plan, calls);  // warms up
  for (int i = 0; i < runs; ++i) {
    const double entry = ns_per_call(&fftw_execute, plan, calls);
    std::printf("%.4f %.4f\n", entry, ns_per_call(native, plan, calls));
  }
  fftw_destroy_plan(plan);
  return 0;
}

// Runs this program with the drop-in library preloaded.
bool measure(const char* self, const char* mode, int runs, Row& row) {
  const std::string command = "env LD_PRELOAD=" OB_PRELOAD " OUTBOARD_MODE=" + std::string(mode) +
                              " " + kChild + "=" + std::to_string(runs) + " '" + self + "'";
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return false;
  double entry = 0;
  double native = 0;
  while (std::fscanf(pipe, "%lf %lf", &entry, &native) == 2) {
    row.samples.add(entry);
    row.ceiling.add(native);
  }
  return pclose(pipe) == 0 && row.samples.runs() == runs;
}

int run(int argc, char** argv) {
  const Options options =
      Options::parse_or_exit(argc, argv, "What the drop-in library adds to fftw_execute.");
  char self[4096] = {};
  if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0) return 1;
  Report report;
  for (const char* mode : kModes) {
    Row row;
    row.bench = "fftw_overhead";
    row.name = std::string("2 points, mode ") + mode;
    row.bytes = 2 * sizeof(fftw_complex);
    row.unit = "ns";
    row.better = Better::smaller;
    row.ceiling_name = "fftw_execute of the native library";
    if (!measure(self, mode, options.runs, row)) return 1;
    report.add(std::move(row));
  }
  report.write(options);
  return 0;
}

}  // namespace
}  // namespace ob::bench

int main(int argc, char** argv) {
  if (const char* runs = std::getenv(ob::bench::kChild)) return ob::bench::child(std::atoi(runs));
  return ob::bench::run(argc, argv);
}
