#pragma once
// The accuracy of what follows on a device's queue.

#include "base/accuracy.hpp"
#include "base/status.hpp"
#include "client/connection_cache.hpp"

namespace ob::offload {

/// Sets the accuracy of all that follows on the acquired device's queue.
/// @returns what the device will do: standard where the mode makes no difference to it
Result<Accuracy> set_accuracy(client::AcquiredDevice& acquired, Accuracy accuracy);

}  // namespace ob::offload
