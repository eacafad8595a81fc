#pragma once
// Compiled kernels of a program.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "backend/opencl/accelerator.hpp"
#include "device/kernels/kernel_runner.hpp"

namespace ob::opencl {

/// A memory object that is an argument of a launch.
struct KernelBuffer {
  cl_mem memory = nullptr;
  bool owned = false;  ///< released when the launch is over
};

/// Kernels for one OpenCL device. A derived class knows the memory of its device.
/// Threads: any
class ClKernelProgram : public KernelProgram {
 public:
  /// A cl_program and its kernels.
  struct Compiled {
    cl_program program = nullptr;
    std::vector<KernelFacts> kernels;
  };
  /// Compiles a portable module or one of OpenCL C.
  /// @param log gets the compiler's words
  /// Errors: build_failed; out_of_memory; device_error
  static Result<Compiled> compile(const Cl& cl, const Accelerator& accelerator,
                                  const ModuleVariant& variant,
                                  const std::vector<Definition>& definitions, std::string& log);

  ~ClKernelProgram() override;
  ClKernelProgram(const ClKernelProgram&) = delete;
  ClKernelProgram& operator=(const ClKernelProgram&) = delete;

  const std::vector<KernelFacts>& kernels() const noexcept final { return compiled_.kernels; }

 protected:
  ClKernelProgram(const Cl& cl, Compiled compiled) : cl_(cl), compiled_(std::move(compiled)) {}

  /// Makes the memory object of an argument.   Errors: unsupported; out_of_memory; device_error
  virtual Result<KernelBuffer> buffer_of(const BoundArgument& argument) const = 0;
  /// Submits a launch to a queue and waits for it.
  Status run_on(cl_command_queue queue, const BoundLaunch& launch) const;

  const Cl& cl() const noexcept { return cl_; }

 private:
  Status submit(cl_command_queue queue, cl_kernel kernel, const BoundLaunch& launch) const;

  const Cl& cl_;
  const Compiled compiled_;
};

}  // namespace ob::opencl
