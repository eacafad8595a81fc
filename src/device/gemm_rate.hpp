#pragma once
// How fast a device multiplies matrices.

#include "device/device.hpp"

namespace ob {

/// The rate of dgemm of matrices as large as bring more, up to 8192 [GFLOP/s]; 0 if it cannot be
/// had. Takes some 10 ms, and what starting the device's library takes.
double measure_gflops(Device& device);

}  // namespace ob
