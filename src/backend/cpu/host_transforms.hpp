#pragma once
// The cpu backend's transforms for other backends' devices.

#include <memory>

#include "device/host_transforms.hpp"

namespace ob::cpu {

/// The libraries that a cpu device would transform with; without one, planning is `unsupported`.
/// @param threads what each transform may use
std::unique_ptr<HostTransforms> open_host_transforms(unsigned threads);

}  // namespace ob::cpu
