// Calls inside an OpenMP parallel region, and a serial call between two regions. Arguments: calls,
// largest dimension.

#include <omp.h>

#include <cstdio>
#include <cstdlib>

#include "workload.hpp"

namespace {

int region(int calls, int size, std::uint64_t seed) {
  int wrong = 0;
#pragma omp parallel for num_threads(4) schedule(dynamic) reduction(+ : wrong)
  for (int call = 0; call < calls; ++call) {
    workload::Rng rng(seed + static_cast<std::uint64_t>(call));
    const auto& names = workload::routines();
    const std::string problem =
        workload::run(names[static_cast<std::size_t>(call) % names.size()], size, rng);
    if (!problem.empty()) {
      std::printf("call %d: %s\n", call, problem.c_str());
      ++wrong;
    }
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const int calls = argc > 1 ? std::atoi(argv[1]) : 92;
  const int size = argc > 2 ? std::atoi(argv[2]) : 60;
  const auto seed = workload::seed();
  std::printf("seed: OUTBOARD_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  int wrong = region(calls, size, seed);
  workload::Rng rng(seed);
  const std::string serial = workload::run("dgemm", size, rng);
  if (!serial.empty()) std::printf("between regions: %s\n", serial.c_str());
  wrong += serial.empty() ? 0 : 1;
  wrong += region(calls, size, seed + 1000);
  std::printf("%d calls in parallel regions, %d wrong\n", 2 * calls, wrong);
  return wrong == 0 ? 0 : 1;
}
