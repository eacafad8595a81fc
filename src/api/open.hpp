#pragma once

#include <memory>

#include "api/objects.hpp"
#include "base/status.hpp"
#include "outboard/device.h"
#include "pool/lease_handles.hpp"
#include "transport/security.hpp"

namespace ob::api {

/// Opens a device, as ob_device_open().   @param where as there; nullptr: OUTBOARD_SERVER
Result<DevicePtr> open_device(const char* where, const ob_device_options& options);

/// Opens a device of a lease, at the first of its daemon's addresses that answers.
Result<DevicePtr> open_leased(const pool::LeaseHandle& handle,
                              const std::shared_ptr<const transport::Security>& security);

/// Closes a device with all that it has made, as ob_device_close().
Status close_device(ob_device handle);

}  // namespace ob::api
