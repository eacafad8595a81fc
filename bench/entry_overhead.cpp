// Measures the time that the drop-in library adds to a call too small to be remote: a 1 x 1 dgemm
// with and without it, for a library in the program's global scope and for one that a module
// brought along (a Python wheel).

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/child_process.hpp"
#include "bench/report.hpp"

namespace {

using ob::bench::Better;
using ob::bench::Samples;

struct Case {
  const char* name;
  const char* scope;
};
constexpr Case kCases[] = {{"1 x 1 dgemm, linked library", "global"},
                           {"1 x 1 dgemm, module's library", "local"}};

// Runs in the child, and prints one figure on stdout.
int measure(const char* scope, bool check) {
  const int flags = RTLD_NOW | (std::strcmp(scope, "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL);
  void* module = dlopen(OB_LOOP_MODULE, flags);
  if (module == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  using Loop = double (*)(int, int);
  const auto loop = reinterpret_cast<Loop>(dlsym(module, "time_dgemm"));
  if (loop == nullptr) return 1;
  std::printf("%.3f\n", check ? loop(1, 100) : loop(20, 200000));
  return 0;
}

// One figure of a child process; negative if it failed.
double run_child(const char* scope, bool preloaded, bool check) {
  std::vector<std::string> environment{"OPENBLAS_NUM_THREADS=1"};
  if (preloaded) {
    // The environment names a server, so that mode auto keeps its size gate. Calls this small never
    // connect to it.
    environment.insert(environment.end(), {std::string("LD_PRELOAD=") + OB_PRELOAD,
                                           "OUTBOARD_MODE=auto", "OUTBOARD_SERVER=127.0.0.1:1"});
  }
  ob::bench::ChildProcess child({ob::bench::own_folder() + "/bench_entry_overhead",
                                 std::string("--child=") + scope + (check ? ",check" : "")},
                                environment);
  const std::string figure = child.line();
  return figure.empty() ? -1 : std::atof(figure.c_str());
}

int compare(const ob::bench::Options& options) {
  ob::bench::Report report;
  for (const Case& c : kCases) {
    Samples preloaded;
    Samples native;
    for (int run = 0; run < (options.check ? 1 : options.runs); ++run) {
      for (const bool with : {false, true}) {
        const double value = run_child(c.scope, with, options.check);
        if (value < 0)
          return std::fprintf(stderr, "entry_overhead: a measured process failed\n"), 1;
        (with ? preloaded : native).add(value);
      }
    }
    report.add({"entry_overhead", c.name, 24, "ns", Better::smaller, preloaded,
                "without the library", native});
    std::printf("  added: %.1f ns (best with less best without)\n", preloaded.min() - native.min());
  }
  report.write(options);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr const char* kChild = "--child=";
  if (argc == 2 && std::strncmp(argv[1], kChild, std::strlen(kChild)) == 0) {
    const std::string what = argv[1] + std::strlen(kChild);
    return measure(what.substr(0, what.find(',')).c_str(),
                   what.find(",check") != std::string::npos);
  }
  const ob::bench::Options options = ob::bench::Options::parse_or_exit(
      argc, argv, "What the drop-in library adds to calls that stay.");
  return compare(options);
}
