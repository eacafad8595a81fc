#pragma once
// How exact the calls of this thread are to be on accelerators.

#include <optional>

#include "base/accuracy.hpp"
#include "client/connection_cache.hpp"
#include "offload/config.hpp"

namespace ob::offload {

/// What outboard_accuracy() said on this thread, else OUTBOARD_ACCURACY.   Threads: any
Accuracy accuracy_now(const Config& config) noexcept;

/// What outboard_accuracy() says on this thread from now on; empty: nothing.
void wish_accuracy(std::optional<Accuracy> accuracy) noexcept;

/// Has what follows on the acquired's queue be as exact as that.
/// @returns what the device will do: standard where the mode makes no difference to it
Result<Accuracy> demand(client::AcquiredDevice& acquired, Accuracy accuracy);

}  // namespace ob::offload
