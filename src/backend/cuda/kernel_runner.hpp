#pragma once
// Kernels of programs on an accelerator.

#include <memory>
#include <string>
#include <vector>

#include "backend/cuda/gpu.hpp"
#include "device/kernels/kernel_runner.hpp"

namespace ob::cuda {

/// Takes portable modules. Its programs run in commands of a CudaQueue, and return when the launch
/// is in the stream.
/// Threads: any
class CudaKernelRunner final : public KernelRunner {
 public:
  /// @param gpu whose libraries outlive the programs
  explicit CudaKernelRunner(const Gpu& gpu) : gpu_(gpu) {}

  Status usable() const override;
  bool takes(const ModuleVariant& variant) const override {
    return variant.kind == SourceKind::portable;
  }
  Result<std::unique_ptr<KernelProgram>> compile(const ModuleVariant& variant,
                                                 const std::vector<Definition>& definitions,
                                                 std::string& log) const override;

 private:
  const Gpu gpu_;
};

}  // namespace ob::cuda
