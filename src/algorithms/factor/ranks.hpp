#pragma once
// One thread for each device of an exchange.

#include <cstddef>
#include <functional>

#include "algorithms/exchange/panel_exchange.hpp"
#include "base/status.hpp"

namespace ob::algorithms {

/// Runs `program` once for each device, all at the same time and the first one on this thread, and
/// waits for all of their commands. When a program fails, the others stop waiting for it.
/// Errors: the first failure, in time; out_of_memory if there are no threads
/// @pre    the exchange was not aborted before
Status run_ranks(PanelExchange& exchange, const std::function<Status(Rank rank)>& program);

}  // namespace ob::algorithms
