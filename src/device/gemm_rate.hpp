#pragma once
// Measurement of a device's rate of matrix products.

#include "device/device.hpp"

namespace ob {

/// Measures the rate of dgemm [GFLOP/s]; 0 if that fails. The order of the matrices grows up to
/// 8192 as long as the rate rises.
/// Cost: some 10 ms, and the start of the device's library
double measure_gflops(Device& device);

}  // namespace ob
