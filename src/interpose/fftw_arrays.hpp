#pragma once
// The arrays of one FFTW call, and whether a planned transform may leave the machine with them.

#include <cstddef>
#include <cstdint>
#include <span>

#include "interpose/fft_offload.hpp"

namespace ob::interpose {

/// The arrays of one call. Only split complex sides have separate arrays for imaginary parts.
struct FftwArrays {
  void* input = nullptr;
  void* output = nullptr;
  void* input_imaginary = nullptr;
  void* output_imaginary = nullptr;
};

/// The bytes an array may touch, relative to its address: [low, high).
struct ByteRange {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

/// A problem that could leave the machine. The distances between split arrays are not known yet
/// (0).
struct FftwOffload {
  FftTransform transform;
  ByteRange input;  ///< each array, if there are two
  ByteRange output;
  bool split = false;
};

/// True if the arrays of that side hold complex numbers.
constexpr bool is_complex(FftKind kind, bool input) noexcept {
  return kind == FftKind::c2c || kind == (input ? FftKind::c2r : FftKind::r2c);
}

/// True if no two elements share a byte. The test sorts dimensions by stride and checks that each
/// steps over all the faster ones together. This is sufficient but not necessary. Interleaved data
/// that fails the test is rare and stays native.
/// @pre |count * stride| of all dimensions together stays below 2^62
bool elements_are_distinct(std::span<const Layout::Dimension> dims,
                           std::int64_t element_bytes) noexcept;

/// Sets `placed` to the transform on these arrays. False if the native library must decide about
/// the arrays: they are null, break the rules of new-array execution, or interleave.
bool place(const FftwOffload& offload, const FftwArrays& arrays, FftTransform& placed) noexcept;

}  // namespace ob::interpose
