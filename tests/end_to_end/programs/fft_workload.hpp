#pragma once
// Random complex FFTW plans (1-D to 3-D, simple and strided batches, in place or not). The results
// are compared with the definition.

#include <string>

#include "workload.hpp"

namespace workload {

std::string fft_double(int size, Rng& rng);
std::string fft_single(int size, Rng& rng);

}  // namespace workload
