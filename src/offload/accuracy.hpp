#pragma once
// Sets the accuracy of the commands of a device's queue.

#include "base/accuracy.hpp"
#include "base/status.hpp"
#include "client/connection_cache.hpp"

namespace ob::offload {

/// Sets the accuracy of all commands that follow on the acquired device's queue.
/// @returns the accuracy that the device uses: standard if the mode makes no difference to it
Result<Accuracy> set_accuracy(client::AcquiredDevice& acquired, Accuracy accuracy);

}  // namespace ob::offload
