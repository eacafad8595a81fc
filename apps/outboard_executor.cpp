// outboard-executor runs the library calls of one client of a daemon. Only outboardd starts it.

#include <cstdio>
#include <cstdlib>

#include "backend/cpu/executor_service.hpp"
#include "executor/sandbox.hpp"
#include "executor/service.hpp"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("outboard-executor is started by outboardd, and by nobody else.\n", stderr);
    return 2;
  }
  ob::cpu::ExecutorService service({.threads = static_cast<unsigned>(std::atoi(argv[2])),
                                    .memory_bytes = std::strtoull(argv[3], nullptr, 10)});
  ob::Status status = ob::executor::end_with(static_cast<pid_t>(std::atol(argv[1])));
  if (status.ok()) status = ob::executor::serve(service);
  std::fprintf(stderr, "outboard-executor: %s\n", status.message().c_str());
  return 1;
}
