// Calls every routine in every precision, repeatedly, with NaN in all memory that a call must not
// read. Arguments: rounds, largest dimension, then optionally the routines.

#include <cstdio>
#include <cstdlib>

#include "workload.hpp"

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 4;
  const int size = argc > 2 ? std::atoi(argv[2]) : 60;
  const auto names =
      argc > 3 ? std::vector<std::string>(argv + 3, argv + argc) : workload::routines();
  const auto seed = workload::seed();
  workload::Rng rng(seed);
  std::printf("seed: OUTBOARD_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  int wrong = 0;
  for (int round = 0; round < rounds; ++round)
    for (const std::string& name : names) {
      const std::string problem = workload::run(name, size, rng);
      if (!problem.empty()) std::printf("round %d: %s\n", round, problem.c_str());
      wrong += problem.empty() ? 0 : 1;
    }
  std::printf("%d rounds of %zu routines, %d wrong\n", rounds, names.size(), wrong);
  return wrong == 0 ? 0 : 1;
}
