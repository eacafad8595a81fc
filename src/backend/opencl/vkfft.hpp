#pragma once
// Runs one transform with VkFFT.

#include <array>
#include <cstdint>
#include <memory>

#include "backend/opencl/accelerator.hpp"
#include "backend/opencl/memory.hpp"
#include "device/device_memory.hpp"
#include "routines/fft.hpp"

namespace ob::opencl {

/// The arrays of a transform: a batch of packed arrays of 1 to 3 dimensions, in place. Real rows
/// are padded to the length of their spectra, 2 (n/2 + 1) numbers.
struct VkShape {
  FftKind kind = FftKind::c2c;  ///< not r2r
  bool single = false;
  int sign = -1;
  int rank = 0;
  std::array<std::uint64_t, 3> n{};  ///< the last one is that of a row; none is 1
  std::uint64_t batch = 1;

  std::uint64_t complex_bytes() const noexcept { return single ? 8 : 16; }
  /// Returns the bytes of the array, stored as a spectrum.
  std::uint64_t bytes() const noexcept;
};

/// VkFFT writes a program for each shape, which the driver compiles. Its tables count against the
/// device's cap as long as the transform lives.
/// Threads: create() one at a time; run() one at a time
class VkTransform {
 public:
  /// @param memory outlives the transform
  /// Errors: out_of_memory; unsupported if VkFFT cannot plan it, with VkFFT's number of the reason;
  /// device_error
  static Result<std::unique_ptr<VkTransform>> create(const Accelerator& accelerator,
                                                     DeviceMemory& memory, const VkShape& shape);
  virtual ~VkTransform() = default;

  /// Returns the workspace that run() needs beside the array [bytes].
  virtual std::uint64_t work_bytes() const noexcept = 0;
  /// Submits the transform.   Memory: both at multiples of 16 bytes   Errors: device_error
  virtual Status run(cl_command_queue queue, Place data, Place work) = 0;

 protected:
  VkTransform() = default;
};

}  // namespace ob::opencl
