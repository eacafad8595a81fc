#pragma once
// The cpu backend: a device that uses (a part of) this machine's cores and memory. It computes with
// OpenBLAS and FFTW, opened at run time; without a library, calls that need it report
// `unsupported`.

#include <cstdint>
#include <memory>
#include <string>

#include "backend/cpu/isolation.hpp"
#include "base/status.hpp"
#include "device/device.hpp"
#include "device/kernels/kernel_runner.hpp"

namespace ob::cpu {

struct Config {
  unsigned index = 0;  ///< number of this device among `devices`, which split the cores
  unsigned devices = 1;
  std::uint64_t memory_bytes = 0;  ///< cap; 0: an equal part of the machine's memory
  /// 0: OPENBLAS_NUM_THREADS for a single device, else an equal part of the cores.
  unsigned threads = 0;
  /// A call or transform that is expected to take longer [s] is refused while others wait; 0: none
  double longest_command_s = 0;
  /// The clients that share an executor: a process that runs their calls and transforms.
  Isolation isolation = Isolation::none;
  std::string executor = {};  ///< path of outboard-executor
  /// The private memory of an executor [bytes] for workspaces and plans, beside what its libraries
  /// have when they are open and 64 MiB for each of their threads. 0: as much as the device has,
  /// but at least 1 GiB
  std::uint64_t executor_bytes = 0;
  /// The dgemm rate [GFLOP/s] of a device with the same library and as many cores; 0: measure it.
  double gflops_double = 0;
  /// Makes every n-th allocation fail, for tests; 0: none.
  unsigned fail_allocations = 0;
  /// Makes one element of every n-th result wrong, for tests; 0: none.
  unsigned corrupt = 0;
  /// A call or transform that finds this file removes it, and fails with a device error; a folder
  /// stays, and all fail. For tests; empty: none.
  std::string fail_calls = {};
  /// Runs kernels of programs, in this process, on buffers in host memory; or nullptr
  std::shared_ptr<const KernelRunner> kernels = {};
  /// Runs kernels of programs in a process for each session, in place of `kernels`.
  bool isolated_kernels = false;
  /// A kernel that runs longer [s] is ended, if it runs in a process of its own; 0: none
  double longest_kernel_s = 0;
};

/// Opens the libraries and measures the device's rate (under 0.1 s). Opening sets environment
/// variables for a moment.
/// Threads: before threads that use the environment
/// Errors: invalid_argument if the configuration is not valid. Absent libraries are no error: the
///         description names them.
///         unavailable if executors are wanted and cannot be started
Result<std::unique_ptr<Device>> create(const Config& config);

}  // namespace ob::cpu
