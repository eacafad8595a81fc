#pragma once

#include "api/objects.hpp"
#include "base/status.hpp"
#include "outboard/device.h"

namespace ob::api {

/// Opens a device, as ob_device_open().   @param where as there; nullptr: OUTBOARD_SERVER
Result<DevicePtr> open_device(const char* where, const ob_device_options& options);

}  // namespace ob::api
