#pragma once
// The devices that OpenCL finds on this machine.

#include <cstdint>
#include <string>
#include <vector>

#include "backend/opencl/cl.hpp"
#include "base/status.hpp"

namespace ob::opencl {

/// An OpenCL device of any vendor, with the one context that this process has for it, so that
/// programs compiled for the context serve all our devices on it. Contexts are never released.
/// Threads: any
struct Accelerator {
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  std::string name;     ///< for people: device, platform, version
  bool is_cpu = false;  ///< computes with the host's own cores
  bool has_fp64 = false;
  std::uint64_t memory_bytes = 0;
  std::uint64_t largest_buffer_bytes = 0;

  /// Accelerators first, CPUs last, otherwise in OpenCL's order.   Memory: lives as long as the
  /// process
  /// Errors: unavailable, with the reason: no library, no platform, no device
  static Result<const std::vector<Accelerator>*> all();
};

}  // namespace ob::opencl
