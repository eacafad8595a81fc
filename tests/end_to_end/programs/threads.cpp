// Many threads call different routines at once. Arguments: threads, calls per thread, largest
// dimension.

#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "workload.hpp"

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 8;
  const int calls = argc > 2 ? std::atoi(argv[2]) : 30;
  const int size = argc > 3 ? std::atoi(argv[3]) : 60;
  const auto seed = workload::seed();
  std::printf("seed: OUTBOARD_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::atomic<int> wrong = 0;
  std::barrier start(threads);  // even the process's first calls are concurrent
  std::vector<std::jthread> running;
  for (int t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      workload::Rng rng(seed + static_cast<std::uint64_t>(t));
      start.arrive_and_wait();
      for (int call = 0; call < calls; ++call) {
        const auto& names = workload::routines();
        const std::string problem = workload::run(names[rng() % names.size()], size, rng);
        if (problem.empty()) continue;
        std::printf("thread %d: %s\n", t, problem.c_str());
        ++wrong;
      }
    });
  running.clear();  // joins the threads
  std::printf("%d threads, %d calls each, %d wrong\n", threads, calls, wrong.load());
  return wrong == 0 ? 0 : 1;
}
