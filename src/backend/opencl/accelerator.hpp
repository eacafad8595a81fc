#pragma once
// The devices that OpenCL finds on this machine.

#include <cstdint>
#include <string>
#include <vector>

#include "backend/opencl/cl.hpp"
#include "base/status.hpp"

namespace ob::opencl {

/// An OpenCL device of any vendor. The process has one context for it, so all devices that share it
/// use the same compiled programs. Contexts are never released.
/// Threads: any
struct Accelerator {
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  std::string name;     ///< shown to people: device, platform, version
  bool is_cpu = false;  ///< the device computes with the host's own cores
  bool has_fp64 = false;
  /// A buffer made with CL_MEM_USE_HOST_PTR is the host's memory itself, without copies and maps.
  bool uses_host_pointers = false;
  std::uint64_t memory_bytes = 0;
  std::uint64_t largest_buffer_bytes = 0;

  /// Lists all devices, accelerators first and CPUs last, otherwise in OpenCL's order.
  /// Memory: lives as long as the process
  /// Errors: unavailable, with the reason: no library, no platform, no device
  static Result<const std::vector<Accelerator>*> all();
};

}  // namespace ob::opencl
