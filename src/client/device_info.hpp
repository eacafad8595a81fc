#pragma once

#include "client/connection.hpp"
#include "device/device.hpp"

namespace ob::client {

/// Returns the properties of the device behind a connection, as its daemon has sent them.
DeviceInfo device_info(Connection& connection);

}  // namespace ob::client
