#pragma once
// Places in buffers, as functions get them.

#include <memory>

#include "api/objects.hpp"
#include "base/layout.hpp"
#include "base/status.hpp"
#include "outboard/device.h"

namespace ob::api {

/// Finds the buffer of a place.
/// Errors: those of find(); invalid_argument if it belongs to another device
Result<std::shared_ptr<Buffer>> buffer_of(const ob_place& place, const OpenDevice& device);

/// Errors: invalid_argument if the region is not in the buffer
Status check_inside(const char* command, const Buffer& buffer, const Region& region);

}  // namespace ob::api
