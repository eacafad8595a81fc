#pragma once
// Kernels of programs on an OpenCL device, in the device's own memory.

#include <memory>
#include <string>
#include <vector>

#include "backend/opencl/accelerator.hpp"
#include "backend/opencl/memory.hpp"
#include "device/kernels/kernel_runner.hpp"

namespace ob::opencl {

/// Takes portable modules and OpenCL C. Its programs run in commands of a ClQueue.
/// Threads: any
class ClKernelRunner final : public KernelRunner {
 public:
  /// @param memory of the device, which outlives the programs
  ClKernelRunner(const Cl& cl, const Accelerator& accelerator, const ClMemory& memory)
      : cl_(cl), accelerator_(accelerator), memory_(memory) {}

  Status usable() const override { return {}; }
  bool takes(const ModuleVariant& variant) const override;
  Result<std::unique_ptr<KernelProgram>> compile(const ModuleVariant& variant,
                                                 const std::vector<Definition>& definitions,
                                                 std::string& log) const override;

 private:
  const Cl& cl_;
  const Accelerator& accelerator_;
  const ClMemory& memory_;
};

}  // namespace ob::opencl
