#pragma once
// One plan of cuFFT.

#include <array>
#include <cstdint>

#include "backend/cuda/stream_context.hpp"
#include "routines/fft.hpp"

namespace ob::cuda {

/// The arrays of a transform: a batch of arrays of 1 to 3 dimensions.
/// Units: strides and distances in elements of their side
struct FftShape {
  FftKind kind = FftKind::c2c;  ///< not r2r
  bool single = false;
  int sign = -1;
  int rank = 0;
  std::array<std::uint64_t, 3> n{};
  std::uint64_t batch = 1;
  std::uint64_t stride = 1;    ///< between elements of the last dimension, on both sides
  std::uint64_t distance = 0;  ///< between transforms; 0: one after another, packed
};

/// Threads: one at a time, with the device current
class FftPass {
 public:
  /// Errors: unsupported if cuFFT refuses the size; out_of_memory; device_error
  static Result<FftPass> create(const FftTable& table, const FftShape& shape);
  FftPass(FftPass&& other) noexcept;
  FftPass& operator=(FftPass&& other) noexcept;
  ~FftPass();

  const FftShape& shape() const noexcept { return shape_; }
  /// Device memory that run() needs.
  std::uint64_t work_bytes() const noexcept { return work_bytes_; }
  /// Submits the transform. c2r may overwrite its input; only c2c may be in place.
  /// @param work of work_bytes()   Errors: device_error
  Status run(cudaStream_t stream, void* input, void* output, void* work) const;

 private:
  FftPass(const FftTable& table, const FftShape& shape) : table_(&table), shape_(shape) {}

  const FftTable* table_;
  FftShape shape_;
  cufftHandle plan_ = 0;
  bool made_ = false;
  std::uint64_t work_bytes_ = 0;
};

}  // namespace ob::cuda
