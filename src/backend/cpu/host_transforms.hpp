#pragma once
// The cpu backend's transforms for other backends' devices.

#include <memory>

#include "device/host_transforms.hpp"

namespace ob::cpu {

/// Opens the FFT libraries of a cpu device; without one, plans are `unsupported`.
/// @param threads the number of threads of each transform
std::unique_ptr<HostTransforms> open_host_transforms(unsigned threads);

}  // namespace ob::cpu
