#include "backend/cuda/kernels.hpp"

#include <algorithm>

#include "backend/cuda/kernel_code.hpp"

namespace ob::cuda {

Result<std::unique_ptr<Kernels>> Kernels::create(const Libraries& libraries, int device) {
  OB_ASSIGN_OR_RETURN(const Driver* driver, libraries.driver());
  OB_ASSIGN_OR_RETURN(const NvrtcTable* compiler, libraries.nvrtc());
  OB_ASSIGN_OR_RETURN(const int capability, compute_capability({libraries, device}));
  OB_ASSIGN_OR_RETURN(const std::string code, kernel_code(*compiler, capability));
  std::unique_ptr<Kernels> made(new Kernels(*driver));
  OB_RETURN_IF_ERROR(
      driver->check(driver->cuModuleLoadData(&made->module_, code.data()), "loading kernels"));
  return made;
}

Kernels::~Kernels() {
  if (module_ != nullptr) (void)driver_.cuModuleUnload(module_);
}

Status Kernels::submit(cudaStream_t stream, const std::string& name, std::int64_t elements,
                       void** arguments) const {
  if (elements <= 0) return {};
  CUfunction function = nullptr;
  OB_RETURN_IF_ERROR(
      driver_.check(driver_.cuModuleGetFunction(&function, module_, name.c_str()), name.c_str()));
  constexpr std::int64_t kThreads = 256;
  constexpr std::int64_t kMostBlocks = 1 << 16;  // several for each multiprocessor of any device
  const std::int64_t blocks = std::min((elements + kThreads - 1) / kThreads, kMostBlocks);
  return driver_.check(driver_.cuLaunchKernel(function, static_cast<unsigned>(blocks), 1, 1,
                                              kThreads, 1, 1, 0, stream, arguments, nullptr),
                       name.c_str());
}

}  // namespace ob::cuda
