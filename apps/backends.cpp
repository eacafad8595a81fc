#include "backends.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "backend/cpu/backend.hpp"
#include "backend/cpu/host_routines.hpp"
#include "backend/cpu/host_transforms.hpp"
#include "backend/null/backend.hpp"
#ifdef OUTBOARD_WITH_CUDA
#include "backend/cuda/backend.hpp"
#endif
#ifdef OUTBOARD_WITH_OPENCL
#include "backend/opencl/backend.hpp"
#endif
#include "log.hpp"

namespace ob::apps {
namespace {

using Devices = std::vector<std::unique_ptr<Device>>;

// Converts "500GF", "1.5TF" or "2e9" to GFLOP/s. Negative if the text is malformed.
double parse_rate_gflops(const std::string& text) {
  std::size_t used = 0;
  double value = -1;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    return -1;
  }
  const std::string unit = text.substr(used);
  if (!std::isfinite(value)) return -1;
  if (unit == "MF") return value * 1e-3;
  if (unit == "GF") return value;
  if (unit == "TF") return value * 1e3;
  return unit.empty() ? value * 1e-9 : -1;
}

template <class Make>
Result<Devices> each(const DeviceOptions& options, Make make) {
  Devices devices;
  for (unsigned i = 0; i < options.devices; ++i) {
    OB_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, make(i));
    devices.push_back(std::move(device));
  }
  return devices;
}

cpu::Isolation isolation_of(const DeviceOptions& options) {
  if (options.isolation == "user") return cpu::Isolation::user;
  return options.isolation == "session" ? cpu::Isolation::session : cpu::Isolation::none;
}

// Returns the path of the executors' program, which lies beside this one.
std::string executor_path() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return (program.parent_path() / "outboard-executor").string();
}

// The devices have equal parts of the cores. One measurement for all keeps their rates equal on a
// busy machine, so that clients cut calls into equal parts.
Result<Devices> make_cpu(const DeviceOptions& options) {
  double gflops_double = 0;
  return each(options, [&](unsigned index) {
    auto made = cpu::create({.index = index,
                             .devices = options.devices,
                             .memory_bytes = options.memory_bytes,
                             .threads = 0,
                             .longest_command_s = options.longest_command_s,
                             .isolation = isolation_of(options),
                             .executor = executor_path(),
                             .executor_bytes = options.executor_bytes,
                             .gflops_double = gflops_double,
                             .fail_allocations = options.fail_allocations,
                             .corrupt = options.corrupt,
                             .fail_calls = options.fail_calls,
                             .isolated_kernels = options.kernels,
                             .longest_kernel_s = options.longest_kernel_s});
    if (made.ok()) gflops_double = (*made)->info().gflops_double;
    return made;
  });
}

Result<Devices> make_null(const DeviceOptions& options) {
  double rate = 0;
  if (!options.device_rate.empty()) rate = parse_rate_gflops(options.device_rate);
  if (rate < 0 || (rate == 0 && !options.device_rate.empty())) {
    return Status(Code::invalid_argument,
                  "--device-rate " + options.device_rate + " is no rate (write 500GF or 1.5TF)");
  }
  return each(options, [&](unsigned index) {
    return null::create({.index = index,
                         .devices = options.devices,
                         .memory_bytes = options.memory_bytes,
                         .rate_gflops = rate,
                         .plan_seconds = options.plan_seconds,
                         .longest_command_s = options.longest_command_s});
  });
}

unsigned host_threads() { return std::max(1U, std::thread::hardware_concurrency()); }

// Opens the processor's versions of the routines that the libraries of `backend` lack. nullptr:
// there are none.
[[maybe_unused]] std::shared_ptr<const HostRoutines> host_routines(const char* backend) {
  auto opened = cpu::open_host_routines(host_threads());
  if (opened.ok()) return std::move(*opened);
  log::warn(std::string("routines that ") + backend +
            " lacks are refused: " + opened.status().message());
  return nullptr;
}

#ifdef OUTBOARD_WITH_CUDA
Status cuda_usable() { return cuda::accelerators().status(); }

Result<Devices> make_cuda(const DeviceOptions& options) {
  const std::shared_ptr<const HostRoutines> host = host_routines("CUDA");
  return each(options, [&](unsigned index) {
    return cuda::create({.index = index,
                         .devices = options.devices,
                         .memory_bytes = options.memory_bytes,
                         .longest_command_s = options.longest_command_s,
                         .fail_allocations = options.fail_allocations,
                         .measure = true,
                         .kernels = options.kernels && options.kernels_in_process,
                         .host = host});
  });
}
#else
Status cuda_usable() {
  return {Code::unavailable,
          "this outboardd has no cuda backend (there were no CUDA headers when it was built); run "
          "python3 tools/cuda_headers.py --into build/cuda and build again"};
}

Result<Devices> make_cuda(const DeviceOptions& /*options*/) { return cuda_usable(); }
#endif

#ifdef OUTBOARD_WITH_OPENCL
Status opencl_usable() { return opencl::find().status(); }

// Checks that OpenCL has a device that is not the processor. A processor behind OpenCL is slower
// than the cpu backend on the same cores.
Status opencl_accelerates() {
  OB_ASSIGN_OR_RETURN(const opencl::Found found, opencl::find());
  if (found.accelerators > 0) return {};
  return {Code::unavailable, "OpenCL has no accelerator here, only the processor"};
}

Result<Devices> make_opencl(const DeviceOptions& options) {
  const std::shared_ptr<const HostRoutines> host = host_routines("OpenCL");
  const std::shared_ptr<const HostTransforms> transforms =
      cpu::open_host_transforms(host_threads());
  return each(options, [&](unsigned index) {
    return opencl::create({.index = index,
                           .devices = options.devices,
                           .memory_bytes = options.memory_bytes,
                           .longest_command_s = options.longest_command_s,
                           .fail_allocations = options.fail_allocations,
                           .measure = true,
                           .kernels = options.kernels && options.kernels_in_process,
                           .host = host,
                           .transforms = transforms});
  });
}
#else
Status opencl_usable() {
  return {
      Code::unavailable,
      "this outboardd has no opencl backend (there were no headers of OpenCL, CLBlast and VkFFT "
      "when it was built); install opencl-headers, libclblast-dev and libvkfft-dev and build "
      "again"};
}

Status opencl_accelerates() { return opencl_usable(); }

Result<Devices> make_opencl(const DeviceOptions& /*options*/) { return opencl_usable(); }
#endif

}  // namespace

Result<Devices> make_devices(const DeviceOptions& options) {
  if (options.backend == "null") return make_null(options);
  if (options.backend == "cpu") return make_cpu(options);
  if (options.backend == "opencl") {
    const Status found = opencl_usable();
    return found.ok() ? make_opencl(options) : found;
  }
  const Status usable = cuda_usable();
  if (options.backend == "cuda") return usable.ok() ? make_cuda(options) : usable;
  if (usable.ok()) {
    log::info("backend cuda: there is an accelerator");
    return make_cuda(options);
  }
  const Status accelerates = opencl_accelerates();
  if (accelerates.ok()) {
    log::info("backend opencl: there is an accelerator, and for cuda " + usable.message());
    return make_opencl(options);
  }
  log::info("backend cpu: " + usable.message() + "; " + accelerates.message());
  return make_cpu(options);
}

}  // namespace ob::apps
