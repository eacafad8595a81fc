// A library of an application. It computes while it is loaded, while it is unloaded, and in an
// atexit handler.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "workload.hpp"

namespace {

/// A failure ends the process at once: exit() must not be called from here.
void call(const char* when) {
  workload::Rng rng(workload::seed());
  for (const char* name : {"dgemm", "dgesv", "fftw"}) {
    const std::string problem = workload::run(name, 40, rng);
    if (problem.empty()) continue;
    std::printf("%s: %s\n", when, problem.c_str());
    std::fflush(stdout);
    _exit(1);
  }
  std::printf("%s: right\n", when);
  std::fflush(stdout);
}

__attribute__((constructor)) void before_main() { call("before main"); }
__attribute__((destructor)) void after_main() { call("destructor"); }

}  // namespace

extern "C" __attribute__((visibility("default"))) void early_register() {
  std::atexit([] { call("atexit"); });
}
