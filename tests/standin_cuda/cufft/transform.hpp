#pragma once
// A transform by FFTW.

#include <cufft.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace standin::fft {

/// A transform with the layout of two sides, see Side.   Threads: any
struct Transform {
  std::vector<std::int64_t> n, input_steps, output_steps;
  std::int64_t batch = 1, input_dist = 0, output_dist = 0;
  cufftType type = CUFFT_C2C;
  int sign = -1;

  void run(std::byte* input, std::byte* output) const;
};

}  // namespace standin::fft
