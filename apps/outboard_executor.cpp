// outboard-executor runs the library calls of one client of a daemon, or the kernels of one
// session. Only outboardd starts it.

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "backend/cpu/executor_requests.hpp"
#include "backend/cpu/executor_service.hpp"
#include "backend/cpu/kernel_service.hpp"
#ifdef OUTBOARD_WITH_OPENCL
#include "backend/opencl/host_kernels.hpp"
#endif
#include "executor/sandbox.hpp"
#include "executor/service.hpp"

namespace {

ob::Status serve_calls(unsigned threads, std::uint64_t memory_bytes) {
  ob::cpu::ExecutorService service({.threads = threads, .memory_bytes = memory_bytes});
  return ob::executor::serve(service);
}

#ifdef OUTBOARD_WITH_OPENCL
ob::Status serve_kernels(unsigned threads, std::uint64_t memory_bytes, const char* folder) {
  ob::cpu::KernelService service(
      ob::opencl::make_host_kernels(),
      {.threads = threads, .memory_bytes = memory_bytes, .folder = folder});
  return ob::executor::serve(service, 1);
}
#else
ob::Status serve_kernels(unsigned, std::uint64_t, const char*) {
  return {ob::Code::unsupported, "this outboard-executor was built without kernels"};
}
#endif

}  // namespace

int main(int argc, char** argv) {
  const bool kernels = argc == 6 && argv[4] == ob::cpu::kKernelArgument;
  if (argc != 4 && !kernels) {
    std::fputs("outboard-executor is started by outboardd, and by nobody else.\n", stderr);
    return 2;
  }
  const auto threads = static_cast<unsigned>(std::atoi(argv[2]));
  const std::uint64_t memory_bytes = std::strtoull(argv[3], nullptr, 10);
  ob::Status status = ob::executor::end_with(static_cast<pid_t>(std::atol(argv[1])));
  if (status.ok()) {
    status = kernels ? serve_kernels(threads, memory_bytes, argv[5])
                     : serve_calls(threads, memory_bytes);
  }
  std::fprintf(stderr, "outboard-executor: %s\n", status.message().c_str());
  return 1;
}
