#pragma once
// Factorizations of the program on several devices.

#include <optional>

#include "algorithms/stages.hpp"
#include "base/status.hpp"
#include "client/device_pool.hpp"
#include "interpose/state.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::interpose {

/// As run_on_several(). Devices do not know each other: panels go from one to the others through
/// this process. A device that fails ends the attempt; nothing of the program's has changed then.
/// @pre algorithms::can_be_factored(routine)
std::optional<Status> factor_on_several(State& state, client::Lease& first,
                                        const Descriptor& routine, const Argument* arguments,
                                        algorithms::Stages& stages);

}  // namespace ob::interpose
